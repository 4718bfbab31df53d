"""The webhook: events are posted as an EventList, and again after a pause when that fails, whatever the failure."""

from __future__ import annotations

import asyncio
import random
from asyncio import Event
from collections.abc import Sequence

from kapi.audit.event import TYPE_META
from kapi.audit.sink import Failures
from kapi.wire.client import CallError, HTTPClient, Server

_PLUGIN = "webhook"
_TIMEOUT = 30.0
# As upstream's DefaultRetryBackoffWithInitialDelay.
_ATTEMPTS = 5
_FACTOR = 1.5
_JITTER = 0.2
_HEADERS = (
    (b"Accept", b"application/json, */*"),
    (b"Content-Type", b"application/json"),
    (b"User-Agent", b"kube-apiserver-audit"),
)
_LIST_HEAD = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['


class Webhook:
    """`initial_backoff` is the first pause in seconds; once it is to stop, there are no more pauses."""

    def __init__(self, server: Server, initial_backoff: float, failures: Failures) -> None:
        self._client = HTTPClient(server)
        self._path = "" if server.url.count("/") > 2 else "/"
        self._initial_backoff = initial_backoff
        self._failures = failures
        self._stopping = Event()
        self._under_way = 0
        self._idle = Event()
        self._idle.set()

    async def start(self) -> None:
        """It is connected to with the first events."""

    async def process(self, events: Sequence[bytes]) -> bool:
        self._under_way += 1
        self._idle.clear()
        try:
            error = await self._deliver(event_list(events))
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
        if error:
            self._failures.report(_PLUGIN, error, events)
        return not error

    async def stop(self) -> None:
        self._stopping.set()
        await self._idle.wait()
        self._client.close()

    async def _deliver(self, body: bytes) -> str:
        """Post it; what went wrong the last time when it could not be delivered."""
        pause = self._initial_backoff
        for attempt in range(_ATTEMPTS):
            if attempt:
                await self._pause(pause * (1 + random.random() * _JITTER))
                pause *= _FACTOR
            error = await self._post(body)
            if not error:
                break
        return error

    async def _post(self, body: bytes) -> str:
        try:
            answer = await self._client.request("POST", self._path, body, headers=_HEADERS, timeout=_TIMEOUT)
        except CallError as error:
            return str(error)
        return "" if 200 <= answer.status <= 206 else f"the webhook answered with status code {answer.status}"

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return


def event_list(events: Sequence[bytes]) -> bytes:
    """A list's items do not repeat what they are."""
    items = b",{".join([event.removeprefix(TYPE_META) for event in events])
    return b"%b{%b]}" % (_LIST_HEAD, items)
