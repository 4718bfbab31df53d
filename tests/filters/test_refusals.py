"""Filters that refuse: bad timeouts, no identity, too many at a time, not allowed, shutting down."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from kapi.api.authorizer import Decision, Verdict
from kapi.api.errors import Unauthorized
from kapi.api.user import ALL_UNAUTHENTICATED, ANONYMOUS, SYSTEM_PRIVILEGED_GROUP, User
from kapi.authn.authenticator import TrustedIdentity
from kapi.filters.authentication import with_authentication
from kapi.filters.authorization import with_authorization
from kapi.filters.deadline import with_request_deadline
from kapi.filters.goaway import with_goaway
from kapi.filters.max_in_flight import with_max_in_flight
from kapi.filters.receive import finish
from kapi.filters.request_info import with_request_info
from kapi.filters.retry_after import with_retry_after
from kapi.filters.wait_group import WaitGroup, with_wait_group
from kapi.telemetry.log import Log
from kapi.telemetry.metrics import Registry
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response


@pytest.fixture
def metrics():
    return RequestMetrics(Registry())


def status(response):
    return orjson.loads(response.body)


class Fixed:
    """Answers every question of authentication or authorization the same way."""

    def __init__(self, answer):
        self.answer = answer

    async def authenticate(self, call):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def at_once(self, *asked):
        return None

    async def authorize(self, user, attributes):
        return self.answer


# --- deadline


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("abc", 'time: invalid duration "abc"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5y", 'time: unknown unit "y" in duration "5y"'),
        ("-", 'time: invalid duration "-"'),
    ],
)
def test_a_bad_timeout_is_a_bad_request(new_call, ok, run, given, complaint):
    response = run(with_request_deadline(ok, 60)(new_call(f"/api/v1/pods?timeout={given}")))
    assert response.status == 400
    assert status(response)["message"] == f"invalid timeout specified in the request URL - {complaint}"


@pytest.mark.parametrize(
    ("query", "seconds"), [("", 60), ("?timeout=1.5s", 1.5), ("?timeout=1h", 60), ("?timeout=0", 60), ("?timeout=", 60)]
)
def test_the_deadline_is_the_clients_within_the_servers(new_call, ok, run, query, seconds):
    call = new_call(f"/api/v1/pods{query}", received=100.0)
    run(with_request_deadline(ok, 60)(call))
    assert call.deadline == 100.0 + seconds


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/pods?watch=1&timeout=zzz",
        "/api/v1/namespaces/a/pods/b/log",
        "/api/v1/namespaces/a/pods/b/exec",
        "/debug/pprof/x",
    ],
)
def test_long_running_requests_have_no_deadline(new_call, ok, run, target):
    call = new_call(target)
    assert run(with_request_deadline(ok, 60)(call)).status == 200
    assert call.deadline is None


# --- request info


def test_request_info_is_read_for_everything_below(new_request, run):
    from kapi.api.call import Call

    seen = []

    async def look(call):
        seen.append(call)
        return Response(200, [])

    run(
        with_request_info(look)(Call(new_request("/apis/apps/v1/namespaces/x/deployments/y/scale?a=1&a=2", "PATCH"), 0))
    )
    (call,) = seen
    assert (call.info.verb, call.info.resource, call.info.subresource) == ("patch", "deployments", "scale")
    assert call.params == {"a": ["1", "2"]}
    assert not call.long_running


# --- authentication


def authenticate(answer, call, metrics, run):
    seen = []

    async def next(call):
        seen.append(call.user)
        return Response(200, [])

    return run(with_authentication(next, Fixed(answer), metrics, Log())(call)), seen


@pytest.mark.parametrize("answer", [None, Unauthorized("bad token")])
def test_nobody_gets_a_401_that_does_not_say_why(new_call, run, metrics, answer):
    response, seen = authenticate(answer, new_call(), metrics, run)
    assert response.status == 401
    assert status(response)["message"] == "Unauthorized"
    assert "details" not in status(response)
    assert not seen


def test_the_user_is_known_below(new_call, run, metrics):
    bob = User(name="bob")
    assert authenticate(bob, new_call(), metrics, run)[1] == [bob]


def test_what_the_server_asks_of_itself_needs_no_credential(new_call, run, metrics):
    call = new_call()
    me = User(name="system:apiserver")
    call.request.connection.identity = TrustedIdentity(me)
    assert authenticate(Unauthorized(), call, metrics, run)[1] == [me]


@pytest.mark.parametrize(("protocol", "leaves"), [("HTTP/2.0", True), ("HTTP/1.1", False)])
def test_unknown_http2_clients_get_one_request_per_connection(new_call, run, metrics, protocol, leaves):
    for answer in (User(name=ANONYMOUS, groups=(ALL_UNAUTHENTICATED,)), None):
        call = new_call()
        call.request.protocol = protocol
        authenticate(answer, call, metrics, run)
        assert call.request.connection.going_away is leaves


def test_known_http2_clients_keep_their_connection(new_call, run, metrics):
    call = new_call()
    call.request.protocol = "HTTP/2.0"
    authenticate(User(name="bob"), call, metrics, run)
    assert not call.request.connection.going_away


# --- authorization


@pytest.mark.parametrize(
    ("method", "target", "message", "details"),
    [
        (
            "GET",
            "/api/v1/namespaces/default/pods",
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"',
            {"kind": "pods"},
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/x/deployments/web/scale",
            'deployments.apps "web" is forbidden: User "alice" cannot patch resource "deployments/scale" in API group '
            '"apps" in the namespace "x"',
            {"name": "web", "group": "apps", "kind": "deployments"},
        ),
        (
            "DELETE",
            "/api/v1/nodes",
            'nodes is forbidden: User "alice" cannot deletecollection resource "nodes" in API group "" '
            "at the cluster scope",
            {"kind": "nodes"},
        ),
        ("POST", "/healthz", 'forbidden: User "alice" cannot post path "/healthz"', {}),
        ("GET", "/api/v1", 'forbidden: User "alice" cannot get path "/api/v1"', {}),
        ("GET", "/a<b>&c", 'forbidden: User "alice" cannot get path "/a&lt;b&gt;&amp;c"', {}),
    ],
)
def test_a_refusal_says_who_cannot_do_what_where(new_call, ok, run, metrics, method, target, message, details):
    authorizer = Fixed(Verdict(Decision.NO_OPINION))
    response = run(with_authorization(ok, authorizer, metrics)(new_call(target, method)))
    assert response.status == 403
    assert status(response)["message"] == message
    assert status(response)["details"] == details
    assert (b"x-content-type-options", b"nosniff") in response.headers


def test_the_authorizers_reason_is_appended(new_call, ok, run, metrics):
    call = new_call("/abac")
    response = run(with_authorization(ok, Fixed(Verdict(Decision.DENY, "no policy.")), metrics)(call))
    assert status(response)["message"] == 'forbidden: User "alice" cannot get path "/abac": no policy.'
    assert call.annotations["authorization.k8s.io/decision"] == "forbid"


# --- max in flight


class Gate:
    """A handler that answers when it is told to, and the calls that wait in it."""

    def __init__(self):
        self.opened = asyncio.Event()

    async def __call__(self, call):
        await self.opened.wait()
        return Response(200, [])


def test_more_than_the_limit_are_told_to_come_back(new_call, metrics):
    async def main():
        gate = Gate()
        handle = with_max_in_flight(gate, 1, 1, metrics)
        first = new_call()
        waiting = asyncio.ensure_future(handle(first))
        refused = await handle(new_call())
        assert (refused.status, refused.body) == (429, b"Too many requests, please try again later.\n")
        assert (b"retry-after", b"1") in refused.headers
        assert metrics.in_flight.values[("readOnly",)] == 1
        gate.opened.set()
        assert (await handle(new_call(method="POST"))).status == 200  # writes have a pool of their own
        assert (await handle(new_call("/api/v1/pods?watch=1"))).status == 200  # long-running: not counted
        assert (await handle(new_call(user=User(name="root", groups=(SYSTEM_PRIVILEGED_GROUP,))))).status == 200
        await waiting
        finish(first, 200)
        assert (await handle(new_call())).status == 200
        assert metrics.dropped.values == {("readOnly",): 1}

    asyncio.run(main())


def test_a_limit_of_zero_is_none(new_call, ok, run, metrics):
    handle = with_max_in_flight(ok, 0, 1, metrics)
    assert [run(handle(new_call())).status for _ in range(3)] == [200] * 3
    assert with_max_in_flight(ok, 0, 0, metrics) is ok


# --- shutdown


def test_after_the_delay_new_requests_are_sent_elsewhere(new_call, ok, run):
    closing = asyncio.Event()
    handle = with_retry_after(ok, closing)
    assert run(handle(new_call())).status == 200
    closing.set()
    call = new_call()
    response = run(handle(call))
    assert (response.status, response.body) == (429, b"The apiserver is shutting down, please try again later.\n")
    assert (b"retry-after", b"5") in response.headers
    assert call.request.connection.going_away
    assert run(handle(new_call("/readyz?verbose"))).status == 200
    assert run(handle(new_call("/metrics"))).status == 200


def test_the_wait_group_lets_nobody_in_once_it_waits(new_call, ok, run):
    group = WaitGroup()
    handle = with_wait_group(ok, group)
    call = new_call()
    run(handle(call))
    assert group.count == 1
    group.close()
    response = run(handle(new_call()))
    assert (response.status, status(response)["message"]) == (503, "apiserver is shutting down")
    assert (b"retry-after", b"1") in response.headers
    assert run(handle(new_call("/livez"))).status == 200
    loopback = new_call()
    loopback.request.connection.identity = TrustedIdentity(User(name="system:apiserver"))
    assert run(handle(loopback)).status == 200
    assert group.count == 1


def test_waiting_ends_when_the_last_request_does(new_call, ok):
    async def main():
        group = WaitGroup()
        call = new_call()
        await with_wait_group(ok, group)(call)
        waiting = asyncio.ensure_future(group.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        finish(call, 200)
        await waiting

    asyncio.run(main())


# --- goaway


def test_goaway_comes_by_chance_and_only_over_http2(new_call, ok, run):
    draws = iter([0.01, 0.9])
    handle = with_goaway(ok, 0.02, lambda: next(draws))
    gone = []
    for protocol in ("HTTP/1.1", "HTTP/2.0", "HTTP/2.0"):
        call = new_call()
        call.request.protocol = protocol
        run(handle(call))
        gone.append(call.request.connection.going_away)
    assert gone == [False, True, False]
    assert with_goaway(ok, 0) is ok
