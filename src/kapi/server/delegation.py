"""Delegation: a request goes to the first server of the chain that serves its path; the end of the chain is a 404."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from kapi.api.call import Call
from kapi.api.errors import APIError, RequestEntityTooLarge
from kapi.filters.handler import CallHandler, refuse
from kapi.wire.messages import BodyTooLarge, Response, text

if TYPE_CHECKING:
    from kapi.server.health import Check
    from kapi.server.hooks import PostStartHook, PreShutdownHook


class Delegate(Protocol):
    """What stands behind a server."""

    def handle(self, call: Call) -> Awaitable[Response]: ...

    def listed_paths(self) -> set[str]: ...

    def prepare_run(self) -> object: ...

    def all_checks(self) -> list[Check]: ...

    def all_post_start_hooks(self) -> list[PostStartHook]: ...

    def all_pre_shutdown_hooks(self) -> list[PreShutdownHook]: ...


class EmptyDelegate:
    """The end of the chain."""

    async def handle(self, call: Call) -> Response:
        return text(404, "404 page not found\n")

    def listed_paths(self) -> set[str]:
        return set()

    def prepare_run(self) -> None:
        return None

    def all_checks(self) -> list[Check]:
        return []

    def all_post_start_hooks(self) -> list[PostStartHook]:
        return []

    def all_pre_shutdown_hooks(self) -> list[PreShutdownHook]:
        return []


def with_status_errors(next: CallHandler, max_body_bytes: int) -> CallHandler:
    """The boundary below which failures are raised, and above which they are responses."""

    async def handle(call: Call) -> Response:
        try:
            return await next(call)
        except APIError as error:
            return await refuse(call, error)
        except BodyTooLarge:
            return await refuse(call, RequestEntityTooLarge(f"Request entity too large: limit is {max_body_bytes}"))

    return handle
