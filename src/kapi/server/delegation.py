"""Delegation: a request goes to the first server of the chain that serves its path; the end of the chain is a 404."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from kapi.api.call import Call
from kapi.api.errors import APIError, RequestEntityTooLarge
from kapi.filters.handler import CallHandler, refuse
from kapi.server.health import Check
from kapi.server.hooks import PostStart, PostStartHook, PreShutdownHook
from kapi.wire.messages import BodyTooLarge, Response, text


class Delegate(Protocol):
    """What stands behind a server."""

    def handle(self, call: Call) -> Awaitable[Response]: ...

    def listed_paths(self) -> set[str]: ...

    def prepare_run(self) -> object: ...

    def add_generic_hook(self, name: str, run: PostStart) -> None:
        """A post-start hook of the process, before those of any server: it is handed to the end of the chain."""

    def add_generic_check(self, check: Check) -> None:
        """Likewise."""

    def all_checks(self) -> list[Check]: ...

    def all_post_start_hooks(self) -> list[PostStartHook]: ...

    def all_pre_shutdown_hooks(self) -> list[PreShutdownHook]: ...


class EmptyDelegate:
    """The end of the chain. It has the hooks that belong to no server, because its checks are the first."""

    def __init__(self) -> None:
        self._hooks: dict[str, PostStartHook] = {}
        self._checks: list[Check] = []

    async def handle(self, call: Call) -> Response:
        return text(404, "404 page not found\n")

    def listed_paths(self) -> set[str]:
        return set()

    def prepare_run(self) -> None:
        return None

    def add_generic_hook(self, name: str, run: PostStart) -> None:
        if name in self._hooks:
            raise ValueError(f"cannot add {name}: there is such a hook already")
        self._hooks[name] = PostStartHook(name, run)
        self._checks.append(self._hooks[name].check())

    def add_generic_check(self, check: Check) -> None:
        self._checks.append(check)

    def all_checks(self) -> list[Check]:
        return self._checks

    def all_post_start_hooks(self) -> list[PostStartHook]:
        return list(self._hooks.values())

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
