"""Looking after definitions: the conditions in their status, and the clean-up of instances when one is deleted.

One task works through the definitions that changed. What it writes goes through the API, as this server itself.
"""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.apiextensions.approval import approval_condition
from kapi.apiextensions.definition import FINALIZER, Definition, condition
from kapi.apiextensions.served import Served
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent
from kapi.storage.objects import Decision, ObjectStore, Write
from kapi.telemetry.log import log

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_IN_PROGRESS = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")


class Upkeep:
    """Names come in by `put`; `run` works on them until it is cancelled."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._served: Served

    def put(self, name: str) -> None:
        if name not in self._waiting:
            self._waiting.add(name)
            self._queue.put_nowait(name)

    async def run(self, served: Served, client: Client, retire: Retire) -> None:
        self._served = served
        while True:
            name = await self._queue.get()
            self._waiting.discard(name)
            while served.retired:
                await retire(served.retired.pop())
            try:
                await self._look_after(name, client)
            except (errors.Conflict, errors.NotFound):
                continue  # a newer state is on its way, and comes by here
            except (errors.APIError, kv.StorageError) as error:
                log.warning("definition_upkeep_failed", name=name, error=str(error))
                asyncio.get_running_loop().call_later(1.0, self.put, name)
