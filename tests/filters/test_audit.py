"""The audit filter where no answer comes: panics, timeouts, clients that leave; and where answers come late."""

from __future__ import annotations

import asyncio
import json

import pytest

from kapi.audit.auditor import Auditor
from kapi.audit.policy import Decision, Level, Policy
from kapi.filters.audit import with_audit
from kapi.filters.receive import finish
from kapi.telemetry.audit import AuditMetrics
from kapi.telemetry.metrics import Registry
from kapi.wire.messages import ClientGone, Response


class Sink:
    """Keeps what it is given."""

    def __init__(self):
        self.events = []

    async def process(self, events):
        self.events += map(json.loads, events)
        return True

    async def start(self): ...

    async def stop(self): ...

    @property
    def outcome(self):
        return [
            (event["stage"], event["responseStatus"].get("message"), event["responseStatus"]["code"])
            for event in self.events
        ]


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def audited(sink, clock):
    """Makes a handler that is audited at the Metadata level."""
    decision = Decision(level=Level.METADATA, label="Metadata", omit_stages=frozenset(("RequestReceived",)))
    auditor = Auditor(Policy((), decision), sink, AuditMetrics(Registry()), clock)
    return lambda handler: (with_audit(handler, auditor), auditor)


def test_a_panic_is_a_stage_of_its_own(audited, sink, new_call, run):
    async def handler(call):
        raise RuntimeError("boom")

    handle, _ = audited(handler)
    with pytest.raises(RuntimeError):
        run(handle(new_call()))
    assert sink.outcome == [("Panic", "APIServer panic'd: boom", 500)]


def test_a_stream_that_panics_is_one_too(audited, sink, new_call, run):
    async def stream(output):
        raise RuntimeError("boom")

    async def handler(call):
        return Response(200, [], stream=stream)

    handle, auditor = audited(handler)

    async def main():
        call = new_call("/api/v1/pods?watch=1")
        response = await handle(call)
        with pytest.raises(RuntimeError):
            await response.stream(None)
        finish(call, 200)
        await auditor.stop()

    run(main())
    assert sink.outcome == [("ResponseStarted", None, 200), ("Panic", "APIServer panic'd: boom", 500)]


@pytest.mark.parametrize(("deadline", "why"), [(0.0, "context deadline exceeded"), (None, "context canceled")])
def test_a_request_that_is_cut_off_is_complete(audited, sink, new_call, run, deadline, why):
    async def handler(call):
        await asyncio.Event().wait()

    handle, auditor = audited(handler)

    async def main():
        call = new_call()
        call.deadline = deadline
        task = asyncio.ensure_future(handle(call))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await auditor.stop()

    run(main())
    message = f"Timeout: request did not complete within requested timeout - {why}"
    assert sink.outcome == [("ResponseComplete", message, 504)]


def test_a_client_that_leaves_is_no_panic(audited, sink, new_call, run):
    async def handler(call):
        raise ClientGone

    handle, auditor = audited(handler)

    async def main():
        with pytest.raises(ClientGone):
            await handle(new_call())
        await auditor.stop()

    run(main())
    assert [stage for stage, _, _ in sink.outcome] == ["ResponseComplete"]


def test_an_upgraded_connection_ends_when_it_ends(audited, sink, new_call, run):
    async def upgrade(stream):
        return None

    async def handler(call):
        return Response(101, [], upgrade=upgrade)

    handle, auditor = audited(handler)

    async def main():
        call = new_call("/api/v1/namespaces/a/pods/p/exec", "POST")
        response = await handle(call)
        begun = list(sink.outcome)
        await response.upgrade(None)
        finish(call, 101)
        await auditor.stop()
        return begun

    assert run(main()) == [("ResponseStarted", None, 101)]
    assert sink.outcome == [("ResponseStarted", None, 101), ("ResponseComplete", None, 101)]


@pytest.mark.parametrize(("seconds", "told"), [(0.5, {}), (2.25, {"authorization": "1.5s", "total": "2.25s"})])
def test_a_slow_request_tells_where_its_time_went(audited, sink, new_call, clock, run, seconds, told):
    async def handler(call):
        call.audit.spent("authorization", 1.0)
        call.audit.spent("authorization", 0.5)
        clock.time = call.received + seconds
        return Response(200, [], b"")

    handle, _ = audited(handler)
    call = new_call()
    clock.time = call.received
    run(handle(call))
    notes = {f"apiserver.latency.k8s.io/{layer}": took for layer, took in told.items()}
    assert sink.events[0].get("annotations", {}) == notes
