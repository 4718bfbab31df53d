"""The store as one version of a custom resource sees it, where its versions must be converted into each other.

Reads give every object in the version served, writes store it in the storage version. A conversion may have to wait for
a webhook, so the events of a watch come later than their writes were answered: this engine is never in step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import orjson

from kapi.api.objects import Object, Revision
from kapi.apiextensions.conversion import ConversionFailed, Converter
from kapi.schema.structural import Structural
from kapi.schema.structural_settle import apply_defaults, settle
from kapi.storage import kv
from kapi.storage.cacher.entry import Shape, Undecodable
from kapi.storage.layer import Layer

Schemas: TypeAlias = Callable[[str], Structural | None]


class Forms:
    """From what is stored to what is served, and back."""

    def __init__(self, served: Shape, storage: Shape, schemas: Schemas, convert: Converter) -> None:
        self._served = served
        self._storage = storage
        self._schemas = schemas
        self._convert = convert

    def is_old(self, value: bytes) -> bool:
        """Whether it is stored in another version than the one objects are stored in now."""
        return not value.startswith(self._storage.head)

    async def shown(self, values: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """The values of these keys in the version served; those that have to be converted all in one go."""
        others = [(position, key, value) for position, (key, value) in enumerate(values) if not self._is_shown(value)]
        found = [value for _, value in values]
        if others:
            decoded = [self._decoded(key, value) for _, key, value in others]
            try:
                converted = await self._convert(decoded, self._served.api_version)
            except ConversionFailed as error:
                raise Undecodable(others[0][1], str(error)) from None
            for (position, _, _), obj in zip(others, converted, strict=True):
                found[position] = self._encoded(obj, self._served)
        return found

    async def stored(self, value: bytes) -> bytes:
        if not self.is_old(value):
            return value
        try:
            (converted,) = await self._convert([orjson.loads(value)], self._storage.api_version)
        except ConversionFailed as error:
            raise kv.Unstorable(str(error)) from None
        schema = self._schemas(_version(self._storage.api_version))
        if schema is not None:
            settle(schema, converted, forgiving=True)
            apply_defaults(schema, converted)
        return self._encoded(converted, self._storage)

    def _is_shown(self, value: bytes) -> bool:
        return value.startswith(self._served.head)

    def _decoded(self, key: str, value: bytes) -> Object:
        """By the schema of the version that it was written in."""
        try:
            decoded: Object = orjson.loads(value)
            decoded["metadata"]["name"]
        except (ValueError, KeyError, TypeError) as error:
            raise Undecodable(key, str(error)) from None
        schema = self._schemas(_version(str(decoded.get("apiVersion", ""))))
        if schema is not None:
            settle(schema, decoded, forgiving=True)
            apply_defaults(schema, decoded)
        return decoded

    def _encoded(self, obj: Object, shape: Shape) -> bytes:
        schema = self._schemas(_version(shape.api_version))
        if schema is not None:
            settle(schema, obj, forgiving=True)
        obj["metadata"].pop("resourceVersion", None)
        ordered = {"kind": shape.kind, "apiVersion": shape.api_version, "metadata": obj["metadata"]}
        return orjson.dumps({**ordered, **{name: value for name, value in obj.items() if name not in ordered}})


class ConvertedKV(Layer):
    """A KV over another one, for one resource."""

    def __init__(self, engine: kv.KV, forms: Forms) -> None:
        super().__init__(engine)
        self.in_step = False
        self._forms = forms
        self._old: dict[str, Revision] = {}

    def is_outdated(self, key: str, revision: Revision) -> bool:
        """Whether the key was at that revision stored in a version that is not the storage version any more."""
        return self._old.get(key) == revision

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        return await self._engine.create(key, await self._forms.stored(value), lease=lease)

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        stored = await self._forms.stored(value)
        try:
            return await self._engine.update(key, stored, expected, lease=lease)
        except kv.Conflict as conflict:
            raise kv.Conflict(key, await self._shown(conflict.current)) from None

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, kv.KeyValue]:
        try:
            return await self._engine.delete(key, expected)
        except kv.Conflict as conflict:
            raise kv.Conflict(key, await self._shown(conflict.current)) from None

    async def get(self, key: str, revision: Revision = kv.NO_REVISION) -> tuple[kv.KeyValue | None, Revision]:
        found, newest = await self._engine.get(key, revision)
        return (await self._shown(found) if found is not None else None), newest

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = kv.NO_REVISION
    ) -> kv.Page:
        page = await self._engine.range(prefix, start=start, limit=limit, revision=revision)
        for item in page.items:
            self._note(item.key, item.value, item.revision)
        values = await self._forms.shown([(item.key, item.value) for item in page.items])
        items = [replace(item, value=value) for item, value in zip(page.items, values, strict=True)]
        return replace(page, items=items)

    def watch(self, prefix: str, after: Revision, sink: kv.Sink) -> kv.Watch:
        return _ConvertedWatch(self, prefix, after, sink)

    async def _shown(self, item: kv.KeyValue) -> kv.KeyValue:
        self._note(item.key, item.value, item.revision)
        (value,) = await self._forms.shown([(item.key, item.value)])
        return replace(item, value=value)

    def _note(self, key: str, value: bytes, revision: Revision) -> None:
        if self._forms.is_old(value):
            self._old[key] = revision
        else:
            self._old.pop(key, None)

    # For the watch.

    def open(self, prefix: str, after: Revision, sink: kv.Sink) -> kv.Watch:
        return self._engine.watch(prefix, after, sink)

    async def event(self, event: kv.Event, *, with_previous: bool) -> kv.Event:
        given = (event.value, event.previous if with_previous else None)
        found = iter(await self._forms.shown([(event.key, value) for value in given if value is not None]))
        value, previous = (None if value is None else next(found) for value in given)
        if event.value is None:
            self._old.pop(event.key, None)
        else:
            self._note(event.key, event.value, event.revision)
        return replace(event, value=value, previous=previous if with_previous else event.previous)


class _ConvertedWatch:
    """The Sink of the engine's watch: what comes is converted in its order and handed on."""

    def __init__(self, store: ConvertedKV, prefix: str, after: Revision, sink: kv.Sink) -> None:
        self._store = store
        self._sink = sink
        self.wants_previous = sink.wants_previous
        self._arrived: asyncio.Queue[Sequence[kv.Event] | Revision | kv.StorageError] = asyncio.Queue()
        self._watch: kv.Watch | None = store.open(prefix, after, self)
        self._task = asyncio.get_running_loop().create_task(self._hand_on())

    def request_progress(self) -> None:
        if self._watch is not None:
            self._watch.request_progress()

    def close(self) -> None:
        self._task.cancel()
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    async def _hand_on(self) -> None:
        while True:
            arrived = await self._arrived.get()
            if isinstance(arrived, kv.StorageError):
                self._sink.failed(arrived)
                return
            if isinstance(arrived, int):
                self._sink.progress(arrived)
                continue
            try:
                converted = [await self._store.event(event, with_previous=self.wants_previous) for event in arrived]
            except Undecodable as error:
                if self._watch is not None:
                    self._watch.close()
                    self._watch = None
                # Nothing is skipped: the events come again, and may find a webhook that answers.
                self._sink.failed(kv.Unavailable(str(error)))
                return
            self._sink.events(converted)

    # kv.Sink

    def events(self, events: Sequence[kv.Event]) -> None:
        self._arrived.put_nowait(events)

    def progress(self, revision: Revision) -> None:
        self._arrived.put_nowait(revision)

    def failed(self, error: kv.StorageError) -> None:
        self._watch = None
        self._arrived.put_nowait(error)


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
