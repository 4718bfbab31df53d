"""Hooks: what runs once the server serves, and before it stops.

A post-start hook is a task of its own; the server is ready when all have returned. What must go on longer is spawned.
A hook that raises `HookFailed` ends the process.
"""

from __future__ import annotations

from asyncio import Event, Task, TaskGroup
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kapi.api.client import Client
from kapi.server.health import Check, event_check


class HookFailed(Exception):
    """The server cannot go on without this hook; the message says which and why."""


class HookContext:
    """What a post-start hook works with. `stopped` is set when the server is about to end."""

    def __init__(self, client: Client, stopped: Event, group: TaskGroup) -> None:
        self.client = client
        self.stopped = stopped
        self._group = group
        self._tasks: set[Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run this until the server stops; it is cancelled then. What it raises ends the process."""
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


PostStart: TypeAlias = Callable[[HookContext], Awaitable[None]]
PreShutdown: TypeAlias = Callable[[], Awaitable[None]]


async def nothing_to_start(_: HookContext) -> None:
    """A hook that probes in the field ask for by name, of something that here is done when it is asked for."""


@dataclass(frozen=True, slots=True)
class PostStartHook:
    name: str
    run: PostStart
    done: Event = field(default_factory=Event)

    def check(self) -> Check:
        return event_check(f"poststarthook/{self.name}", self.done.is_set, "not finished", boot=True)

    async def start(self, context: HookContext) -> None:
        try:
            await self.run(context)
        except Exception as error:
            raise HookFailed(f'PostStartHook "{self.name}" failed: {error or repr(error)}') from error
        self.done.set()


@dataclass(frozen=True, slots=True)
class PreShutdownHook:
    name: str
    run: PreShutdown
