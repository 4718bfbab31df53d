"""Informers: list and watch through the loopback client, and tell whoever listens of every key that changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kapi.api.client import Client
from kapi.api.errors import APIError
from kapi.api.objects import Object
from kapi.telemetry.log import log

Listener: TypeAlias = Callable[[str, Object | None], None]  # the key, and the object unless it is gone
RETRY_SECONDS = 1.0


def key_of(decoded: Object) -> str:
    metadata = decoded["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


class Informer:
    """The objects of one resource, as they are now, and a call for each change. Shared by all who ask for its path."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path
        self._listeners: list[Listener] = []
        self.objects: dict[str, Object] = {}
        self.synced = asyncio.Event()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)
        for key, decoded in self.objects.items():
            listener(key, decoded)

    async def run(self) -> None:
        """Until cancelled. A watch that ends is begun again with a list: what went meanwhile is told as gone."""
        while True:
            try:
                revision = await self._list()
                self.synced.set()
                await self._watch(revision)
            except APIError as error:
                log.warning("informer_restarts", path=self._path, error=str(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def _list(self) -> str:
        listing = await self._client.list(self._path)
        found = {key_of(item): item for item in listing["items"]}
        for key in self.objects.keys() - found.keys():
            self._change(key, None)
        for key, item in found.items():
            self._change(key, item)
        version: str = listing["metadata"]["resourceVersion"]
        return version

    async def _watch(self, revision: str) -> None:
        async for event in self._client.watch(self._path, resourceVersion=revision, allowWatchBookmarks="true"):
            decoded = event["object"]
            if event["type"] == "ERROR":
                return
            if event["type"] != "BOOKMARK":
                self._change(key_of(decoded), None if event["type"] == "DELETED" else decoded)

    def _change(self, key: str, decoded: Object | None) -> None:
        if decoded is None:
            self.objects.pop(key, None)
        else:
            self.objects[key] = decoded
        for listener in self._listeners:
            listener(key, decoded)


class Informers:
    """One informer per path, however many ask for it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._informers: dict[str, Informer] = {}

    def of(self, path: str) -> Informer:
        if path not in self._informers:
            self._informers[path] = Informer(self._client, path)
        return self._informers[path]

    @property
    def all(self) -> Sequence[Informer]:
        return tuple(self._informers.values())
