"""GOAWAY by chance: HTTP/2 clients reconnect now and then, so that load spreads over the servers behind a balancer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import random

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response


def with_goaway(next: CallHandler, chance: float, draw: Callable[[], float] = random) -> CallHandler:
    if chance <= 0:
        return next

    def handle(call: Call) -> Awaitable[Response]:
        if call.request.protocol == "HTTP/2.0" and draw() < chance:
            call.request.connection.go_away()
        return next(call)

    return handle
