"""How many seats a request is estimated to take."""

from __future__ import annotations

import pytest

from kapi.flowcontrol.interest import Interest
from kapi.flowcontrol.queue_set import EXEMPT
from kapi.flowcontrol.work import Estimator, Stats
from tests.flowcontrol.conftest import Hall, new_call, new_info

PODS = "/api/v1/namespaces/a/pods"


@pytest.fixture
def room():
    return Hall(EXEMPT, 0)


def seats(room, target, stats, method="GET", *, most=0):
    room.level.most_seats = most
    call = new_call(target, method)
    estimator = Estimator(lambda group, resource: stats, Interest(), room.metrics)
    return estimator.estimate(call.info, call.params, room.flow()).seats


@pytest.mark.parametrize(
    ("query", "stats", "expected"),
    [
        ("", None, 1),
        ("", Stats(0, 0), 1),
        ("", Stats(100, 5_000), 5),
        ("?limit=20", Stats(100, 5_000), 1),
        ("?limit=50", Stats(100, 5_000), 3),
        ("?resourceVersion=0", Stats(1_000, 5_000), 10),  # from the cache: in pieces
        ("", Stats(10_000, 5_000), 10),
        ("?resourceVersionMatch=Exact&resourceVersion=7", Stats(1_000, 5_000), 50),
        ("?continue=abc&limit=100", Stats(1_000, 5_000), 5),
        ("?continue=abc&limit=100&labelSelector=a", Stats(1_000, 5_000), 25),
        ("?limit=100&resourceVersion=7", Stats(10_000, 50_000), 50),
        ("?resourceVersionMatch=Exact&resourceVersion=7", Stats(100_000, 5_000), 100),
        ("?fieldSelector=metadata.name%3Db", Stats(10_000, 5_000), 1),
        ("?limit=many", Stats(1, 1), 100),
    ],
)
def test_a_list_takes_seats_by_what_it_holds_in_memory(room, query, stats, expected):
    assert seats(room, PODS + query, stats) == expected


def test_no_request_takes_more_of_its_level_than_it_may(room):
    assert seats(room, PODS, Stats(10_000, 5_000), most=3) == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 10),
        ("&resourceVersion=0", 10),
        ("&resourceVersion=7", 1),
        ("&resourceVersion=7&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 10),
    ],
)
def test_a_watch_costs_what_it_begins_with(room, query, expected):
    assert seats(room, f"{PODS}?watch=1{query}", Stats(10_000, 5_000)) == expected


def test_other_reads_take_one(room):
    assert seats(room, f"{PODS}/b", Stats(10_000, 5_000)) == 1
    assert seats(room, "/version", None) == 1


def watched(room, *watches):
    interest = Interest()
    kept = [interest.add(new_info(target)) for target in watches]
    return Estimator(lambda group, resource: None, interest, room.metrics), interest, kept


def test_a_write_that_many_watch_holds_seats_while_they_are_told(room):
    estimator, interest, kept = watched(room, *["/api/v1/pods?watch=1"] * 12, *[f"{PODS}?watch=1"] * 9)
    work = estimator.estimate(new_info(f"{PODS}/b", "PUT"), {}, room.flow())
    assert (work.initial, work.final, work.latency) == (1, 3, 0.005)
    work = estimator.estimate(new_info("/api/v1/namespaces/other/pods/b", "PUT"), {}, room.flow())
    assert work.final == 2
    room.level.most_seats = 1
    work = estimator.estimate(new_info(f"{PODS}/b", "PUT"), {}, room.flow())
    assert (work.final, work.latency) == (1, 0.015)  # narrower, and so longer
    for one in kept[:12]:
        interest.remove(one)
    assert estimator.estimate(new_info(f"{PODS}/b", "PUT"), {}, room.flow()).seats == 1


def test_watches_of_other_objects_do_not_count(room):
    others = ["/api/v1/namespaces/other/pods?watch=1", f"{PODS}/c?watch=1", "/apis/apps/v1/deployments?watch=1"]
    others.append("/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1")  # found by an index
    estimator, _, _ = watched(room, *others * 20)
    assert estimator.estimate(new_info(f"{PODS}/b", "DELETE"), {}, room.flow()).seats == 1


def test_making_a_token_tells_nobody(room):
    estimator, _, _ = watched(room, *["/api/v1/serviceaccounts?watch=1"] * 20)
    token = new_info("/api/v1/namespaces/a/serviceaccounts/b/token", "POST")
    assert estimator.estimate(token, {}, room.flow()).seats == 1
