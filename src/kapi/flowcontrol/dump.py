"""The state of flow control as tables for people, as upstream prints them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeAlias

from kapi.api.clock import Clock
from kapi.api.duration import SECOND, format_duration
from kapi.flowcontrol.control import FlowControl
from kapi.flowcontrol.level import Level
from kapi.flowcontrol.ticket import WAITING, Ticket

Row: TypeAlias = tuple[object, ...]
_LEVELS: Row = (
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
)
_QUEUES: Row = (
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
)
_REQUESTS: Row = (
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
)
_DETAILS: Row = ("UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
_NEVER = "0001-01-01T00:00:00Z"
_NARROWEST = 8


def priority_levels(control: FlowControl) -> str:
    return table([_LEVELS, *(_level_row(level) for _, level in sorted(control.levels.items()))])


def _level_row(level: Level) -> Row:
    queues = level.queues
    return (
        level.name,
        sum(1 for queue in queues.queues if queue.waiting),
        _go_bool(queues.idle),
        _go_bool(level.quiescing),
        queues.waiting,
        queues.executing,
        queues.dispatched,
        queues.rejected,
        0,  # as upstream, which counts them as cancelled
        queues.cancelled,
    )


def queues(control: FlowControl) -> str:
    rows = [_QUEUES]
    for name, level in sorted(control.levels.items()):
        for queue in level.queues.queues:
            counts = (len(queue.waiting), len(queue.executing), queue.seats_in_use)
            sums = (queue.initial_sum, queue.seats_sum, _seat_seconds(queue.work_sum))
            rows.append((name, queue.index, *counts, _seat_seconds(queue.next_r), *sums))
    return table(rows)


def requests(control: FlowControl, *, details: bool) -> str:
    rows = [_REQUESTS + _DETAILS if details else _REQUESTS]
    for _, level in sorted(control.levels.items()):
        for queue_index, index, ticket in _tickets(level):
            row = _request_row(control.clock, level, queue_index, index, ticket)
            rows.append(row + _detail(ticket) if details else row)
    return table(rows)


def _tickets(level: Level) -> Iterator[tuple[int, int, Ticket]]:
    """Each with the index of its queue and its place in it; -1: it has none."""
    for queue in level.queues.queues:
        for index, ticket in enumerate(queue.waiting):
            yield queue.index, index, ticket
        for ticket in queue.executing:
            yield queue.index, -1, ticket
    for ticket in level.queues.queueless:
        yield -1, -1, ticket


def _request_row(clock: Clock, level: Level, queue: int, index: int, ticket: Ticket) -> Row:
    work, flow = ticket.work, ticket.flow
    began = clock.now() - clock.monotonic()
    return (
        level.name,
        flow.schema,
        queue,
        index,
        flow.distinguisher,
        _time(began + ticket.arrived),
        work.initial,
        work.final,
        format_duration(round(work.latency * SECOND)),
        _NEVER if ticket.state is WAITING else _time(began + ticket.started),
    )


def _detail(ticket: Ticket) -> Row:
    info = ticket.call.info
    version = f"{info.api_group}/{info.api_version}" if info.api_group else info.api_version
    where = (info.path, info.namespace, info.name)
    return (ticket.call.user.name, info.verb, *where, version, info.resource, info.subresource)


def table(rows: list[Row]) -> str:
    """Cells end with a comma, columns are as wide as they must be: text/tabwriter's way with upstream's settings."""
    cells = [[f"{cell}," for cell in row[:-1]] + [str(row[-1])] for row in rows]
    widths = [max(_NARROWEST, *(len(cell) + 1 for cell in column)) for column in zip(*cells, strict=True)]
    widths[-1] = 0
    lines = ("".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
    return "\n".join(lines) + "\n"


def _go_bool(value: bool) -> str:
    return "true" if value else "false"


def _seat_seconds(value: float) -> str:
    return f"{max(value, 0.0):.8f}ss"


def _time(seconds: float) -> str:
    """As Go's RFC3339Nano: no zeros at its end."""
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{text}Z"
