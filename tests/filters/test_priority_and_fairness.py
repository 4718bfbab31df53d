"""Priority and fairness as a filter: what holds a seat, and until when. What clients see of it: tests/kube."""

from __future__ import annotations

import asyncio

import pytest

from kapi.api.user import ALL_AUTHENTICATED, SYSTEM_PRIVILEGED_GROUP, User
from kapi.filters.priority_and_fairness import with_priority_and_fairness
from kapi.filters.receive import finish
from kapi.flowcontrol.control import FlowControl
from kapi.telemetry.instruments import Instruments

ALICE = User(name="alice", groups=(ALL_AUTHENTICATED,))
ROOT = User(name="root", groups=(SYSTEM_PRIVILEGED_GROUP, ALL_AUTHENTICATED))


@pytest.fixture
def control(clock):
    """One seat, no objects: the mandatory schemas and levels are all there is."""
    return FlowControl(1, clock, Instruments.create({"gitVersion": "v0"}))


@pytest.fixture
def handle(control, ok):
    return with_priority_and_fairness(ok, control, Instruments.create({"gitVersion": "v0"}).requests, 60.0)


def test_a_seat_is_held_until_the_answer_has_been_sent(new_call, run, handle):
    first = new_call(user=ALICE)
    assert run(handle(first)).status == 200
    assert run(handle(new_call(user=ALICE))).status == 429
    finish(first, 200)
    assert run(handle(new_call(user=ALICE))).status == 200


def test_a_watch_holds_it_until_it_has_begun(new_call, run, handle, control):
    watch = new_call("/api/v1/pods?watch=1", user=ALICE)
    assert run(handle(watch)).status == 200
    assert run(handle(new_call(user=ALICE))).status == 429
    watch.initialized()
    other = new_call(user=ALICE)
    assert run(handle(other)).status == 200
    write = new_call("/api/v1/namespaces/a/pods/b", "PUT", user=ALICE)
    assert control.interest.in_writing(write.info) == 1
    finish(watch, 200)  # the seat is the other's now
    assert run(handle(new_call(user=ALICE))).status == 429
    assert control.interest.in_writing(write.info) == 0


def test_a_watch_that_fails_gives_it_back(new_call, run, control):
    async def fails(call):
        raise RuntimeError

    handle = with_priority_and_fairness(fails, control, Instruments.create({"gitVersion": "v0"}).requests, 60.0)
    watch = new_call("/api/v1/pods?watch=1", user=ALICE)
    with pytest.raises(RuntimeError):
        run(handle(watch))
    finish(watch, 500)
    assert control.levels["catch-all"].queues.idle


@pytest.mark.parametrize("target", ["/api/v1/namespaces/a/pods/b/exec", "/api/v1/namespaces/a/pods/b/log?follow=true"])
def test_other_long_running_requests_take_none(new_call, run, handle, target):
    for _ in range(3):
        response = run(handle(new_call(target, user=ALICE)))
        assert (response.status, response.headers) == (200, [])


def test_the_most_privileged_are_not_limited(new_call, run, handle):
    assert [run(handle(new_call(user=ROOT))).status for _ in range(5)] == [200] * 5


def test_without_objects_the_mandatory_ones_decide(new_call, answer, handle, control):
    response = answer(handle, new_call(user=ALICE))
    assert (b"x-kubernetes-pf-flowschema-uid", b"") in response.headers
    assert {name: level.current for name, level in control.levels.items()} == {"exempt": 0, "catch-all": 1}


def test_whoever_is_neither_authenticated_nor_not_is_served_last(new_call, run, handle, control):
    run(handle(new_call(user=User(name="ghost"))))
    assert control.levels["catch-all"].queues.executing == 1


def test_refusals_ask_to_stay_away_longer_when_they_are_many(new_call, run, handle, clock):
    run(handle(new_call(user=ALICE)))
    for _ in range(4):
        clock.time += 1
        refused = [run(handle(new_call(user=ALICE))) for _ in range(10)]
    assert (b"retry-after", b"1") not in refused[-1].headers
    assert refused[-1].body == b"Too many requests, please try again later.\n"


def test_a_request_that_is_cancelled_in_its_queue_is_gone_from_it(new_call, control, ok):
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": QUEUING}}}
    schema = {"matchingPrecedence": 1, "priorityLevelConfiguration": {"name": "q"}, "rules": [EVERYONE]}
    control.configuration.levels["q"] = {"metadata": {"name": "q"}, "spec": level}
    control.configuration.schemas["q"] = {"metadata": {"name": "q"}, "spec": schema}
    handle = with_priority_and_fairness(ok, control, Instruments.create({"gitVersion": "v0"}).requests, 60.0)

    async def main():
        await handle(new_call(user=ALICE))
        queues = control.levels["q"].queues
        waiting = asyncio.create_task(handle(new_call(user=ALICE, received=control.clock.monotonic())))
        await asyncio.sleep(0)
        assert queues.waiting == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (queues.waiting, queues.cancelled) == (0, 1)

    asyncio.run(main())


QUEUING = {"queues": 1, "handSize": 1, "queueLengthLimit": 5}
EVERYONE = {
    "subjects": [{"kind": "User", "user": {"name": "*"}}],
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True}],
}
