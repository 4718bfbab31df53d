"""Priority and fairness as clients see it: one server, real connections, and a level with a single seat."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.server_process import PATIENCE, Server

API = "/apis/flowcontrol.apiserver.k8s.io/v1"
DUMP = "/debug/api_priority_and_fairness/dump_"
MAPS = "/api/v1/namespaces/default/configmaps"
RESOURCES = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
QUEUE = {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 1}}
BUSY = "Too many requests, please try again later.\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Twenty seats: a level with one share of them has one.
    limits = ("--max-requests-inflight=10", "--max-mutating-requests-inflight=10")
    server = Server(tmp_path_factory.mktemp("flow-control"), *limits)
    try:
        yield server.start()
        assert server.stop() == 0
    finally:
        server.end()


@pytest.fixture
def admin(server):
    with server.client() as client:
        yield client


class Tight:
    """A priority level with one seat, and the schema that sends one user's requests there."""

    def __init__(self, server, admin, user, response):
        self.server, self.admin, self.user = server, admin, user
        limited = {"nominalConcurrencyShares": 1, "borrowingLimitPercent": 0, "limitResponse": response}
        spec = {"type": "Limited", "limited": limited}
        self.level = admin.create(f"{API}/prioritylevelconfigurations", {"metadata": {"name": user}, "spec": spec})
        subjects = [{"kind": "User", "user": {"name": user}}]
        urls = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        spec = {
            "matchingPrecedence": 50,
            "priorityLevelConfiguration": {"name": user},
            "rules": [{"subjects": subjects, "resourceRules": [RESOURCES], "nonResourceRules": urls}],
        }
        self.schema = admin.create(f"{API}/flowschemas", {"metadata": {"name": user}, "spec": spec})

    def client(self):
        return self.server.client(self.user)

    def requests(self):
        """This level's, as people see them."""
        rows = table(self.admin, "requests?includeRequestDetails=1")
        return [row for row in rows if row["PriorityLevelName"] == self.user]

    def until(self, count):
        """Wait until so many requests of this level wait or execute."""
        deadline = time.monotonic() + PATIENCE
        while len(found := self.requests()) != count:
            assert time.monotonic() < deadline, found
        return found

    def sit(self):
        """A connection whose request has the seat: its body is still to come."""
        client = self.client()
        client.connection.putrequest("POST", MAPS)
        client.connection.putheader("content-type", "application/json")
        client.connection.putheader("content-length", "2")
        client.connection.endheaders()
        self.until(1)
        return client


def table(client, name):
    status, text = client.text(DUMP + name)
    assert status == 200
    head, *lines = (re.split(r",\s+", line) for line in text.splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def get_up(client):
    client.connection.send(b"{}")
    return client.connection.getresponse().read()


@pytest.fixture
def tight(server, admin):
    made = []

    def make(user, response):
        made.append(Tight(server, admin, user, response))
        return made[-1]

    yield make
    for one in made:
        admin.call("DELETE", f"{API}/flowschemas/{one.user}")
        admin.call("DELETE", f"{API}/prioritylevelconfigurations/{one.user}")


def matched(response):
    response.read()
    return tuple(response.getheader(f"X-Kubernetes-PF-{what}-UID") for what in ("FlowSchema", "PriorityLevel"))


def uids(client, schema, level):
    names = (f"flowschemas/{schema}", f"prioritylevelconfigurations/{level}")
    return tuple(client.get(f"{API}/{name}")["metadata"]["uid"] for name in names)


def sample(client, name, **labels):
    _, text = client.text("/metrics")
    for line in text.splitlines():
        if line.startswith(f"apiserver_flowcontrol_{name}{{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
            return float(line.rpartition(" ")[2])
    return None


@pytest.mark.parametrize(
    ("user", "groups", "path", "schema", "level"),
    [
        ("admin", (), "/api/v1/namespaces/default", "exempt", "exempt"),
        ("alice", (), "/healthz", "probes", "exempt"),
        ("alice", (), "/nowhere", "global-default", "global-default"),
        ("alice", (), f"{MAPS}/missing", "global-default", "global-default"),
        ("system:kube-scheduler", (), "/api/v1/pods", "kube-scheduler", "workload-high"),
        ("system:node:n1", ("system:nodes",), "/api/v1/nodes", "system-node-high", "node-high"),
        ("system:node:n1", ("system:nodes",), "/api/v1/pods", "system-nodes", "system"),
    ],
)
def test_every_answer_tells_how_its_request_was_classified(server, admin, user, groups, path, schema, level):
    with server.client(user, *groups) as client:
        assert matched(client.send("GET", path)) == uids(admin, schema, level)


def test_a_watch_tells_it_too_and_keeps_no_seat(server, admin, tight):
    room = tight("watcher", {"type": "Reject"})
    with room.client() as watching, room.client() as client:
        response = watching.send("GET", "/api/v1/namespaces?watch=1")
        assert response.getheader("X-Kubernetes-PF-FlowSchema-UID") == room.schema["metadata"]["uid"]
        response.readline()  # it has begun
        room.until(0)
        assert client.send("GET", MAPS).status == 200
        watching.connection.sock.close()


def test_without_a_seat_a_request_is_refused(server, admin, tight):
    room = tight("refused", {"type": "Reject"})
    with room.sit() as sitting, room.client() as client, server.client("other") as other:
        response = client.send("GET", MAPS)
        assert (response.status, response.getheader("Retry-After")) == (429, "1")
        assert response.getheader("Content-Type") == "text/plain; charset=utf-8"
        assert matched(response) == tuple(o["metadata"]["uid"] for o in (room.schema, room.level))
        assert client.text("/version") == (429, BUSY)
        assert other.send("GET", MAPS).status == 200
        get_up(sitting)
        assert client.text(MAPS)[0] == 200
    labels = {"priority_level": "refused", "flow_schema": "refused"}
    assert sample(admin, "rejected_requests_total", **labels, reason="concurrency-limit") == 2
    assert sample(admin, "dispatched_requests_total", **labels) == 2
    assert sample(admin, "nominal_limit_seats", priority_level="refused") == 1
    assert sample(admin, "current_limit_seats", priority_level="refused") == 1
    assert sample(admin, "request_wait_duration_seconds_count", **labels, execute="false") == 2


def test_with_a_queue_it_waits_for_its_turn(server, admin, tight):
    room = tight("patient", QUEUE)
    with room.sit() as sitting, room.client() as waiting, room.client() as late:
        waiting.connection.request("GET", MAPS)
        first, second = room.until(2)
        assert (first["RequestIndexInQueue"], first["StartTime"]) == ("0", "0001-01-01T00:00:00Z")
        assert (first["UserName"], first["Verb"], first["APIPath"]) == ("patient", "list", MAPS)
        assert (first["APIVersion"], first["Resource"]) == ("v1", "configmaps")
        assert (second["RequestIndexInQueue"], second["Verb"]) == ("-1", "create")
        (queue,) = (row for row in table(admin, "queues") if row["PriorityLevelName"] == "patient")
        assert (queue["PendingRequests"], queue["ExecutingRequests"], queue["SeatsInUse"]) == ("1", "1", "1")
        assert queue["TotalWorkSum"] == "0.00300000ss"
        assert sample(admin, "current_inqueue_requests", priority_level="patient") == 1
        assert late.text(MAPS) == (429, BUSY)  # the queue takes one
        get_up(sitting)
        assert waiting.connection.getresponse().status == 200
    assert sample(admin, "rejected_requests_total", priority_level="patient", reason="queue-full") == 1
    (row,) = (row for row in table(admin, "priority_levels") if row["PriorityLevelName"] == "patient")
    assert (row["IsIdle"], row["DispatchedRequests"], row["RejectedRequests"]) == ("true", "2", "1")


def test_nobody_waits_longer_than_a_quarter_of_the_requests_time(server, admin, tight):
    room = tight("hasty", QUEUE)
    with room.sit() as sitting, room.client() as client:
        assert client.text(f"{MAPS}?timeout=200ms") == (429, BUSY)
        room.until(1)
        get_up(sitting)
    assert sample(admin, "rejected_requests_total", priority_level="hasty", reason="time-out") == 1


def test_whoever_goes_away_leaves_the_queue(server, admin, tight):
    room = tight("gone", QUEUE)
    with room.sit() as sitting:
        with room.client() as waiting:
            waiting.connection.request("GET", MAPS)
            room.until(2)
        room.until(1)
        get_up(sitting)
        room.until(0)


def test_a_change_holds_for_the_next_request(server, admin, tight):
    room = tight("changing", {"type": "Reject"})
    with room.sit() as sitting, room.client() as client:
        assert client.text(MAPS)[0] == 429
        room.level["spec"]["limited"] |= {"nominalConcurrencyShares": 100}
        assert admin.call("PUT", f"{API}/prioritylevelconfigurations/changing", room.level)[0] == 200
        assert client.text(MAPS)[0] == 200
        room.level["spec"]["limited"] |= {"nominalConcurrencyShares": 1}
        del room.level["metadata"]["resourceVersion"]
        assert admin.call("PUT", f"{API}/prioritylevelconfigurations/changing", room.level)[0] == 200
        assert client.text(MAPS)[0] == 429
        assert admin.call("DELETE", f"{API}/flowschemas/changing")[0] == 200
        response = client.send("GET", MAPS)
        assert (response.status, matched(response)) == (200, uids(admin, "global-default", "global-default"))
        # The level goes as well, but not before the last of its requests.
        assert admin.call("DELETE", f"{API}/prioritylevelconfigurations/changing")[0] == 200
        (row,) = (row for row in table(admin, "priority_levels") if row["PriorityLevelName"] == "changing")
        assert (row["IsQuiescing"], row["ExecutingRequests"]) == ("true", "1")
        get_up(sitting)
        client.text("/version")
        assert not [row for row in table(admin, "priority_levels") if row["PriorityLevelName"] == "changing"]


def test_a_schema_without_a_level_matches_nothing(server, admin, tight):
    room = tight("dangling", {"type": "Reject"})
    assert admin.call("DELETE", f"{API}/prioritylevelconfigurations/dangling")[0] == 200
    with room.client() as client:
        assert matched(client.send("GET", MAPS)) == uids(admin, "global-default", "global-default")


def test_the_most_privileged_are_served_when_nobody_else_is(server, admin, tight):
    room = tight("stuck", {"type": "Reject"})
    with room.sit() as sitting:
        assert json.loads(admin.text(MAPS)[1])["kind"] == "ConfigMapList"
        get_up(sitting)


def test_the_dumps_are_tables_of_columns(admin):
    status, text = admin.text(f"{DUMP}priority_levels")
    head, *rows = text.splitlines()
    assert (status, head.split(", ")[0]) == (200, "PriorityLevelName")
    column = head.index("ActiveQueues")
    assert all(row[column - 1] == " " != row[column] for row in rows)
    assert head.startswith("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests,")
    assert "SubResource" not in admin.text(f"{DUMP}requests")[1]


def test_schemas_are_listed_in_the_order_in_which_they_are_matched(admin):
    form = "application/json;as=Table;v=v1;g=meta.k8s.io"
    rows = admin.call("GET", f"{API}/flowschemas", accept=form)[1]["rows"]
    keys = [(row["cells"][2], row["cells"][0]) for row in rows]
    assert keys == sorted(keys)
    assert keys[0] == (1, "exempt")


def test_the_server_says_that_it_follows_the_configuration(admin):
    checks = admin.text("/readyz?verbose")[1]
    assert "[+]poststarthook/priority-and-fairness-config-consumer ok" in checks
    assert "[+]poststarthook/priority-and-fairness-filter ok" in checks


def test_without_it_two_limits_hold_for_all(new_server):
    server = new_server("--enable-priority-and-fairness=false", "--max-requests-inflight=1").start()
    with server.client() as admin:
        assert matched(admin.send("GET", MAPS)) == (None, None)
        assert admin.text(f"{DUMP}queues")[0] == 404
        assert "priority-and-fairness-filter" not in admin.text("/readyz?verbose")[1]
