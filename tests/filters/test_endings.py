"""How requests end: finished callbacks, panics, timeouts, watches that are told to end."""

from __future__ import annotations

import asyncio
import io

import orjson
import pytest

from kapi.api.clock import SystemClock
from kapi.filters.http_log import with_http_log
from kapi.filters.panic_recovery import with_panic_recovery
from kapi.filters.receive import finish, receive
from kapi.filters.request_metrics import with_request_metrics
from kapi.filters.timeout import Deadlines, with_timeout
from kapi.filters.watch_termination import Watches, with_watch_termination
from kapi.telemetry.log import Log
from kapi.telemetry.metrics import Registry
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import ClientGone, Response


class Output:
    closed = False

    def __init__(self):
        self.data = b""

    def write_nowait(self, data):
        self.data += data


# --- receive


def finishing(endings, make):
    async def handle(call):
        call.finished.append(lambda _call, status: endings.append(status))
        return make()

    return handle


def test_a_plain_answer_is_finished_when_it_is_handed_back(new_request, run, clock):
    endings = []
    run(receive(finishing(endings, lambda: Response(201, [])), clock)(new_request()))
    assert endings == [201]


def test_a_stream_is_finished_when_it_has_ended(new_request, clock):
    async def main():
        endings = []
        more = asyncio.Event()

        async def stream(output):
            await more.wait()

        response = await receive(finishing(endings, lambda: Response(200, [], stream=stream)), clock)(new_request())
        sending = asyncio.ensure_future(response.stream(Output()))
        await asyncio.sleep(0)
        assert endings == []
        more.set()
        await sending
        assert endings == [200]

    asyncio.run(main())


def test_a_client_that_leaves_before_the_stream_begins_finishes_it(new_request, run, clock):
    async def stream(output):
        raise AssertionError

    endings = []
    request = new_request()
    run(receive(finishing(endings, lambda: Response(200, [], stream=stream)), clock)(request))
    request.disconnect()
    request.disconnect()
    assert endings == [200]


def test_a_head_request_does_not_wait_for_a_stream_that_is_never_sent(new_request, run, clock):
    endings = []

    async def stream(output):
        raise AssertionError

    run(receive(finishing(endings, lambda: Response(200, [], stream=stream)), clock)(new_request(method="HEAD")))
    assert endings == [200]


def test_a_cancelled_request_is_finished(new_request, clock):
    async def main():
        endings = []

        async def handle(call):
            call.finished.append(lambda _call, status: endings.append(status))
            await asyncio.Event().wait()

        task = asyncio.ensure_future(receive(handle, clock)(new_request()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert endings == [499]

    asyncio.run(main())


# --- panic recovery


def test_an_exception_is_a_500_and_its_traceback_is_in_the_log(new_call, run):
    async def broken(call):
        raise KeyError("surprise")

    log = Log(io.StringIO())
    call = new_call("/api/v1/pods?a=b")
    call.audit_id = "id-7"
    response = run(with_panic_recovery(broken, log)(call))
    assert response.status == 500
    status = orjson.loads(response.body)
    assert status["message"] == "This request caused apiserver to panic. Look in the logs for details."
    assert status["reason"] == "InternalError"
    written = log.stream.getvalue()
    assert "KeyError: 'surprise'" in written
    assert "/api/v1/pods?a=b" in written
    assert "id-7" in written


def test_an_exception_in_a_stream_is_logged_and_breaks_the_response_off(new_call):
    async def broken_stream(output):
        raise KeyError("late surprise")

    async def handle(call):
        return Response(200, [], stream=broken_stream)

    async def main():
        log = Log(io.StringIO())
        response = await with_panic_recovery(handle, log)(new_call())
        with pytest.raises(ClientGone):
            await response.stream(Output())
        assert "late surprise" in log.stream.getvalue()

    asyncio.run(main())


def test_a_client_that_left_is_no_panic(new_call, run):
    async def gone(call):
        raise ClientGone("bye")

    log = Log(io.StringIO())
    with pytest.raises(ClientGone):
        run(with_panic_recovery(gone, log)(new_call()))
    assert log.stream.getvalue() == ""


# --- timeout


async def forever(call):
    await asyncio.Event().wait()


def overdue(new_call, target="/api/v1/pods", seconds=0.01):
    call = new_call(target, received=SystemClock.monotonic())
    call.deadline = call.received + seconds
    return call


@pytest.mark.parametrize("target", ["/api/v1/pods", "/api/v1/pods?timeout=10ms"])
def test_a_request_past_its_deadline_is_a_504(new_call, target):
    async def main():
        handle = with_timeout(forever, Deadlines(SystemClock()))
        response = await handle(overdue(new_call, target))
        assert response.status == 504
        assert orjson.loads(response.body)["message"] == "Timeout: request did not complete within the allotted timeout"
        # Whoever made the request is not cancelled by its timeout.
        assert asyncio.current_task().cancelling() == 0

    asyncio.run(main())


def test_each_of_many_requests_ends_at_its_own_deadline(new_call):
    async def main():
        handle = with_timeout(forever, Deadlines(SystemClock()))
        order = []

        async def one(name, call):
            await handle(call)
            order.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(one("long", overdue(new_call, seconds=0.06)))
            group.create_task(one("own", overdue(new_call, "/api/v1/pods?timeout=20ms", 0.02)))
            group.create_task(one("longer", overdue(new_call, seconds=0.08)))
        assert order == ["own", "long", "longer"]

    asyncio.run(main())


def test_a_cancellation_from_elsewhere_stays_one(new_call):
    async def main():
        task = asyncio.ensure_future(with_timeout(forever, Deadlines(SystemClock()))(overdue(new_call, seconds=60)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_body_that_is_still_sent_at_the_deadline_is_broken_off(new_call):
    async def endless(output):
        await asyncio.Event().wait()

    async def handle(call):
        return Response(200, [], stream=endless)

    async def main():
        response = await with_timeout(handle, Deadlines(SystemClock()))(overdue(new_call))
        with pytest.raises(ClientGone):
            await response.stream(Output())

    asyncio.run(main())


def test_a_request_in_time_is_answered_as_it_is(new_call, ok, run):
    async def main():
        return await with_timeout(ok, Deadlines(SystemClock()))(overdue(new_call, seconds=60))

    assert run(main()).body == b"ok"


# --- watch termination


def a_watch(ended):
    async def stream(output):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    async def handle(call):
        return Response(200, [], stream=stream)

    return handle


@pytest.mark.parametrize("grace", [0, 0.05])
def test_watches_end_cleanly_at_shutdown_and_new_ones_are_refused(new_call, grace):
    async def main():
        watches, ended = Watches(), []
        handle = with_watch_termination(a_watch(ended), watches)
        streams = []
        for _ in range(5):
            call = new_call("/api/v1/pods?watch=true")
            response = await handle(call)
            streams.append(asyncio.ensure_future(response.stream(Output())))
        await asyncio.sleep(0)
        await watches.terminate(grace)
        await asyncio.gather(*streams)  # none of them was cancelled as seen from outside
        assert len(ended) == 5
        refused = await handle(new_call("/api/v1/pods?watch=true"))
        assert (refused.status, dict(refused.headers)[b"retry-after"]) == (503, b"1")
        assert (await handle(new_call("/api/v1/pods"))).status == 200

    asyncio.run(main())


def test_a_watch_whose_client_leaves_is_still_cancelled(new_call):
    async def main():
        response = await with_watch_termination(a_watch([]), Watches())(new_call("/api/v1/pods?watch=1"))
        task = asyncio.ensure_future(response.stream(Output()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


# --- log and metrics


def test_requests_are_logged_from_verbosity_3_on(new_call, ok, run, clock):
    log = Log(io.StringIO())
    handle = with_http_log(ok, log, clock)
    call = new_call(received=clock.time)
    run(handle(call))
    assert call.finished == []
    log.verbosity = 3
    call = new_call("/api/v1/pods?limit=5", received=clock.time, user_agent="kubectl/1.37")
    run(handle(call))
    clock.time += 0.25
    finish(call, 200)
    line = log.stream.getvalue()
    assert '"HTTP" verb="LIST" URI="/api/v1/pods?limit=5" latency="250.000ms" userAgent="kubectl/1.37"' in line
    assert 'srcIP="192.0.2.7:4711" resp=200' in line


def counted(new_call, answer, clock, requests):
    metrics = RequestMetrics(Registry())
    answers = []

    async def handle(call):
        return Response(answers[-1], [], b"x" * 10)

    chain = with_request_metrics(handle, metrics, clock)
    for method, target, status, headers in requests:
        answers.append(status)
        call = new_call(target, method, received=clock.time, **headers)
        finish(call, answer(chain, call).status)
    return metrics


@pytest.mark.parametrize(
    ("method", "target", "headers", "labels"),
    [
        ("GET", "/api/v1/namespaces/a/pods", {}, ("LIST", "", "", "v1", "pods", "", "namespace")),
        ("GET", "/api/v1/namespaces/a/pods/b", {}, ("GET", "", "", "v1", "pods", "", "resource")),
        ("GET", "/api/v1/pods?watch=1", {}, ("WATCH", "", "", "v1", "pods", "", "cluster")),
        (
            "POST",
            "/apis/apps/v1/namespaces/a/deployments?dryRun=All",
            {},
            ("POST", "All", "apps", "v1", "deployments", "", "resource"),
        ),
        (
            "PATCH",
            "/api/v1/nodes/n",
            {"content_type": "application/apply-patch+yaml"},
            ("APPLY", "", "", "v1", "nodes", "", "resource"),
        ),
        ("GET", "/api/v1/namespaces/a/pods/b/log", {}, ("CONNECT", "", "", "v1", "pods", "log", "resource")),
        ("GET", "/healthz", {}, ("GET", "", "", "", "", "/healthz", "")),
        ("BREW", "/healthz", {}, ("other", "", "", "", "", "/healthz", "")),
    ],
)
def test_requests_are_counted_by_what_they_asked_for(new_call, answer, clock, method, target, headers, labels):
    metrics = counted(new_call, answer, clock, [(method, target, 200, headers)])
    assert metrics.total.values == {(*labels, "apiserver", "200"): 1}


def test_what_clients_make_up_does_not_grow_the_metrics(new_call, answer, clock):
    made_up = [("GET", f"/api/v1/things{i}", 404, {}) for i in range(50)]
    metrics = counted(new_call, answer, clock, made_up)
    assert metrics.total.values == {("LIST", "", "", "", "", "", "cluster", "apiserver", "404"): 50}


def test_a_failure_of_something_known_is_counted_as_such(new_call, answer, clock):
    requests = [("GET", "/api/v1/pods", 200, {}), ("GET", "/api/v1/pods", 500, {})]
    metrics = counted(new_call, answer, clock, requests)
    assert metrics.total.values[("LIST", "", "", "v1", "pods", "", "cluster", "apiserver", "500")] == 1


def test_long_running_requests_are_counted_while_they_last(new_call, run, clock):
    metrics = RequestMetrics(Registry())

    async def handle(call):
        return Response(200, [], stream=lambda output: asyncio.sleep(0))

    call = new_call("/api/v1/pods?watch=1")
    run(with_request_metrics(handle, metrics, clock)(call))
    assert set(metrics.long_running.values.values()) == {1}
    finish(call, 200)
    assert set(metrics.long_running.values.values()) == {0}
    assert metrics.duration.values == {}
