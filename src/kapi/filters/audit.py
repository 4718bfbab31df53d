"""Audit: the stages of a request that the policy wants written down."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kapi.api.call import Call
from kapi.audit.auditor import Auditor
from kapi.audit.event import Record
from kapi.filters.handler import CallHandler, internal_error
from kapi.wire.messages import ClientGone, Response

_Stream = TypeVar("_Stream")


def with_audit(next: CallHandler, auditor: Auditor) -> CallHandler:
    async def handle(call: Call) -> Response:
        record = auditor.begin(call, call.user)
        if record is None:
            return await next(call)
        call.audit = record
        record.spent("authentication", auditor.clock.monotonic() - call.received)
        if "RequestReceived" not in record.omitted and not await auditor.process(call, record, "RequestReceived"):
            auditor.metrics.rejected.inc()
            request = call.request
            target = f"{request.path}?{request.query}" if request.query else request.path
            return internal_error(target, "failed to store audit event")
        try:
            response = await next(call)
        except (CancelledError, ClientGone):
            record.failed(504, "Timeout", _cut_off(call, auditor))
            # Whoever is still there has waited long enough.
            auditor.process_later(call, record, "ResponseComplete")
            raise
        except Exception as error:
            _panicked(record, error)
            await auditor.process(call, record, "Panic")
            raise
        record.answered(response)
        if call.long_running:
            await auditor.process(call, record, "ResponseStarted")
        if response.stream is None and response.upgrade is None:
            await auditor.process(call, record, "ResponseComplete")
        else:
            _complete_at_end(call, auditor, record, response)
        return response

    return handle


def with_failure_audit(failed: CallHandler, auditor: Auditor) -> CallHandler:
    """For what is refused before it is known who asks: a single event, of the answer."""

    async def handle(call: Call) -> Response:
        response = await failed(call)
        record = auditor.begin(call, None)
        if record is not None:
            record.answered(response)
            await auditor.process(call, record, "ResponseStarted")
        return response

    return handle


def _complete_at_end(call: Call, auditor: Auditor, record: Record, response: Response) -> None:
    stage = "ResponseComplete"

    def watched(stream: Callable[[_Stream], Awaitable[None]]) -> Callable[[_Stream], Awaitable[None]]:
        async def run(output: _Stream) -> None:
            nonlocal stage
            try:
                await stream(output)
            except ClientGone:
                raise
            except Exception as error:
                _panicked(record, error)
                stage = "Panic"
                raise

        return run

    if response.stream is not None:
        response.stream = watched(response.stream)
    elif response.upgrade is not None:
        response.upgrade = watched(response.upgrade)
    call.finished.append(lambda call, _: auditor.process_later(call, record, stage))


def _panicked(record: Record, error: Exception) -> None:
    record.failed(500, "InternalError", f"APIServer panic'd: {error or repr(error)}")


def _cut_off(call: Call, auditor: Auditor) -> str:
    overdue = call.deadline is not None and auditor.clock.monotonic() >= call.deadline
    why = "context deadline exceeded" if overdue else "context canceled"
    return f"Timeout: request did not complete within requested timeout - {why}"
