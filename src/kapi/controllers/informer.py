"""Informers: every object of a resource, and then every change to it, told to the controllers that listen.

One per resource, however many listen. Nothing is kept: whoever needs an object reads it, from the server's own cache.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import orjson

from kapi.api.gvk import GroupResource
from kapi.storage import kv
from kapi.storage.changes import Changes
from kapi.storage.factory import StorageFactory
from kapi.telemetry.log import log

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
# Nobody owns, counts or misses them, and there are many.
_NOT_FOLLOWED = frozenset((GroupResource("", "events"), GroupResource("events.k8s.io", "events")))


class Change(NamedTuple):
    """`value` is None when the object has gone; it `is_new` when it was created, or found by a list."""

    resource: GroupResource
    namespace: str
    name: str
    value: bytes | None
    is_new: bool

    @property
    def path(self) -> str:
        """As work queues have it: namespace/name, or the name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


Listener: TypeAlias = Callable[[Change], None]


class Informer:
    """`store` is None for a resource that is not served: there is nothing to tell of it."""

    def __init__(self, resource: GroupResource, store: kv.KV | None, prefix: str) -> None:
        self.resource = resource
        self._listeners: list[Listener] = []
        self._restarted: list[Callable[[], None]] = []
        self._cut = len(prefix)
        self._changes = Changes(store, prefix, self._told, self._began) if store is not None else None
        self._lists = 0

    def listen(self, listener: Listener, restarted: Callable[[], None] | None = None) -> None:
        """Before it runs. `restarted` is told when changes may have been missed: all that is there is told again."""
        self._listeners.append(listener)
        if restarted is not None:
            self._restarted.append(restarted)

    async def run(self, listed: Callable[[], None]) -> None:
        """Until cancelled."""
        if self._changes is None:
            listed()
        else:
            await self._changes.run(listed)

    def _began(self) -> None:
        self._lists += 1
        if self._lists > 1:
            for restarted in self._restarted:
                restarted()

    def _told(self, key: str, value: bytes | None, is_new: bool) -> None:
        namespace, _, name = key[self._cut :].rpartition("/")
        change = Change(self.resource, namespace, name, value, is_new)
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:
                # One object that a controller cannot make sense of must keep neither others nor the server.
                where = {"resource": str(self.resource), "key": change.path}
                log.error("controller_panic", **where, traceback=traceback.format_exc())


class Informers:
    """Those of single resources that were asked for, and of all once anyone listens to everything."""

    def __init__(self, factory: StorageFactory) -> None:
        self._factory = factory
        self._informers: dict[GroupResource, Informer] = {}
        self._of_all: list[tuple[Listener, Callable[[], None]]] = []
        self._custom: dict[str, asyncio.Task[None]] = {}  # by the definition's name
        self._group: asyncio.TaskGroup
        self._unlisted: set[GroupResource] = set()
        self.listed = asyncio.Event()  # everything that was there at the start has been told

    def of(self, resource: GroupResource) -> Informer:
        found = self._informers.get(resource)
        if found is None:
            prefix = next((objects.prefix for known, objects in self._factory.stores if known == resource), "")
            store = self._factory.engine(resource) if prefix else None
            found = self._informers[resource] = Informer(resource, store, prefix)
        return found

    def listen_to_all(self, listener: Listener, restarted: Callable[[], None]) -> None:
        """Of every resource, custom ones included as they come."""
        self._of_all.append((listener, restarted))

    async def run(self) -> None:
        """Until cancelled."""
        if self._of_all:
            self._add_all()
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._unlisted.update(self._informers)
            for informer in self._informers.values():
                group.create_task(informer.run(partial(self._is_listed, informer.resource)))

    def _is_listed(self, resource: GroupResource) -> None:
        self._unlisted.discard(resource)
        if not self._unlisted:
            self.listed.set()

    def _add_all(self) -> None:
        for resource in [known for known, _ in self._factory.stores if known not in _NOT_FOLLOWED]:
            informer = self.of(resource)
            for listener, restarted in self._of_all:
                informer.listen(listener, restarted)
        self.of(DEFINITIONS).listen(self._definition_changed)

    def _definition_changed(self, change: Change) -> None:
        if change.value is None:
            task = self._custom.pop(change.name, None)
            if task is not None:
                task.cancel()
        elif change.name not in self._custom:
            spec = orjson.loads(change.value)["spec"]
            resource = GroupResource(spec["group"], spec["names"]["plural"])
            prefix = self._factory.path(f"{resource.group}/{resource.resource}")
            informer = Informer(resource, self._factory.engine(resource), prefix)
            for listener, restarted in self._of_all:
                informer.listen(listener, restarted)
            # Told before the definitions are said to be listed: what they define is listed too by then.
            self._unlisted.add(resource)
            self._custom[change.name] = self._group.create_task(informer.run(partial(self._is_listed, resource)))
