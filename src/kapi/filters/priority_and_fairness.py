"""Priority and fairness: a request executes when its priority level has seats for it, in its flow's turn.

A watch holds its seats only until it has begun; other long-running requests are not counted at all.
"""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.filters.handler import CallHandler, too_many_requests
from kapi.flowcontrol.control import FlowControl
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.ticket import WAITING, Ticket
from kapi.telemetry.requests import MUTATING, READ_ONLY, READS, RequestMetrics
from kapi.wire.messages import Response

LONGEST_WAIT = 60.0


def with_priority_and_fairness(
    next: CallHandler, control: FlowControl, metrics: RequestMetrics, request_timeout: float
) -> CallHandler:
    monotonic = control.clock.monotonic
    classify, interest, wait = control.classify, control.interest, control.metrics.wait

    def patience(call: Call) -> float:
        """A quarter of the time that there is for the whole request, counted from its arrival."""
        allotted = request_timeout if call.deadline is None else call.deadline - call.received
        return min(allotted / 4, LONGEST_WAIT) - (monotonic() - call.received)

    async def refuse(call: Call, flow: Flow, waited: float) -> Response:
        wait.observe(waited, (*flow.tally.labels, "false"))
        metrics.dropped.inc(READ_ONLY if call.info.verb in READS else MUTATING)
        retry_after = flow.level.retry_after
        retry_after.refused(monotonic())
        return await too_many_requests(retry_after.seconds, flow.headers)

    def begin_watch(call: Call, ticket: Ticket) -> None:
        call.initialized = ticket.finish
        watched = interest.add(call.info)
        if watched is not None:
            call.finished.append(lambda _call, _status: interest.remove(watched))

    async def wait_and_execute(call: Call, flow: Flow, ticket: Ticket) -> Response:
        call.request.on_disconnect(ticket.give_up)
        if not await ticket.admitted(patience(call)):
            return await refuse(call, flow, monotonic() - ticket.arrived)
        wait.observe(ticket.started - ticket.arrived, (*flow.tally.labels, "true"))
        if call.audit is not None:
            call.audit.spent("apf-queue-wait", ticket.started - ticket.arrived)
        return await execute(call, flow, ticket)

    def execute(call: Call, flow: Flow, ticket: Ticket) -> Awaitable[Response]:
        call.finished.append(ticket.answered)
        if call.info.verb == "watch":
            begin_watch(call, ticket)
        call.headers += flow.headers
        return next(call)

    def handle(call: Call) -> Awaitable[Response]:
        info = call.info
        if call.long_running and info.verb != "watch":
            return next(call)
        flow = classify(call.user, info)
        queues = flow.level.queues
        ticket = queues.start(flow, control.estimator.estimate(info, call.params, flow), call)
        if ticket is None:
            return refuse(call, flow, 0.0)
        if ticket.state is WAITING:
            return wait_and_execute(call, flow, ticket)
        if not flow.exempt:
            flow.tally.at_once += 1
        return execute(call, flow, ticket)

    return handle
