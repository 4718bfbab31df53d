"""An engine as one resource sees it: values are encrypted on their way in and decrypted on their way out.

Keys, revisions, leases and the order of events are the engine's. What was written from here is known without being
decrypted, so on an embedded engine a watcher is in step whatever the cipher.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from kapi.api.gvk import GroupResource
from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.encryption.encryption import Encryption
from kapi.storage.encryption.providers import read
from kapi.storage.encryption.transformer import TransformError
from kapi.storage.encryption.watch import DecryptingSink
from kapi.storage.layer import Layer

_SLICE_SECONDS = 0.004
_MOST_CORRUPT = 100


class EncryptedKV(Layer):
    """A `kv.KV` over another one."""

    def __init__(self, engine: kv.KV, encryption: Encryption, resource: GroupResource) -> None:
        super().__init__(engine)
        self._encryption = encryption
        self._resource = resource
        self._writing: dict[str, tuple[bytes, bytes]] = {}  # by key: what is stored, and what it stands for

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        stored = await self._seal(key, value)
        with self._known(key, stored, value):
            return await self._engine.create(key, stored, lease=lease)

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        stored = await self._seal(key, value)
        try:
            with self._known(key, stored, value):
                return await self._engine.update(key, stored, expected, lease=lease)
        except kv.Conflict as conflict:
            raise kv.Conflict(key, await self._opened(conflict.current)) from None

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, kv.KeyValue]:
        """What cannot be read is not deleted: nobody could say what went."""
        found, _ = await self._engine.get(key)
        if found is not None:
            found = await self._opened(found)
        try:
            revision, before = await self._engine.delete(key, expected)
        except kv.Conflict as conflict:
            raise kv.Conflict(key, await self._opened(conflict.current)) from None
        return revision, found if found is not None and found.revision == before.revision else await self._opened(
            before
        )

    async def get(self, key: str, revision: Revision = kv.NO_REVISION) -> tuple[kv.KeyValue | None, Revision]:
        found, newest = await self._engine.get(key, revision)
        return await self._opened(found) if found is not None else None, newest

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = kv.NO_REVISION
    ) -> kv.Page:
        page = await self._engine.range(prefix, start=start, limit=limit, revision=revision)
        items: list[kv.KeyValue] = []
        corrupt: list[kv.Corrupt] = []
        deadline = time.monotonic() + _SLICE_SECONDS
        for item in page.items:
            try:
                items.append(await self._opened(item))
            except kv.Corrupt as error:
                corrupt.append(error)
                if len(corrupt) == _MOST_CORRUPT:
                    break
            if time.monotonic() > deadline:
                await asyncio.sleep(0)
                deadline = time.monotonic() + _SLICE_SECONDS
        if corrupt:
            raise kv.CorruptObjects(corrupt, complete=len(corrupt) < _MOST_CORRUPT)
        return replace(page, items=items)

    async def is_stale(self, key: str) -> bool:
        """Whether the key's value is stored in another form than a write would give it now."""
        found, _ = await self._engine.get(key)
        return found is not None and (await self._open(key, found.value))[1]

    def watch(self, prefix: str, after: Revision, sink: kv.Sink) -> kv.Watch:
        watching = DecryptingSink(sink, self._open_now, self._open)
        watching.watch = self._engine.watch(prefix, after, watching)
        return watching

    async def _seal(self, key: str, value: bytes) -> bytes:
        try:
            return await self._encryption.transformer(self._resource).to_storage(value, key.encode())
        except TransformError as error:
            raise kv.EncryptionFailed(str(error)) from None

    @contextmanager
    def _known(self, key: str, stored: bytes, value: bytes) -> Iterator[None]:
        """While it is written, the value is known to watchers: its event comes before the write returns."""
        self._writing[key] = stored, value
        try:
            yield
        finally:
            if self._writing.get(key) == (stored, value):
                del self._writing[key]

    async def _opened(self, item: kv.KeyValue) -> kv.KeyValue:
        return replace(item, value=(await self._open(item.key, item.value))[0])

    def _open_now(self, key: str, stored: bytes) -> bytes:
        """Raises KeyMissing where `_open` would wait."""
        written = self._writing.get(key)
        if written is not None and written[0] == stored:
            return written[1]
        try:
            return self._encryption.transformer(self._resource).from_storage(stored, key.encode())[0]
        except TransformError as error:
            raise kv.Corrupt(key, str(error)) from None

    async def _open(self, key: str, stored: bytes) -> tuple[bytes, bool]:
        try:
            return await read(self._encryption.transformer(self._resource), stored, key.encode())
        except TransformError as error:
            raise kv.Corrupt(key, str(error)) from None
