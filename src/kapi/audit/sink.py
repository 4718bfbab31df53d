"""Sinks: where events go. A sink never raises for an event; it tells whether all went well, and counts what did not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from kapi.audit.legacy import event_text
from kapi.telemetry.audit import AuditMetrics
from kapi.telemetry.log import Log


class Sink(Protocol):
    """An event is the JSON of one audit.k8s.io/v1 Event."""

    async def start(self) -> None: ...

    async def process(self, events: Sequence[bytes]) -> bool:
        """Take these; False when some could not be."""

    async def stop(self) -> None:
        """Write out what is held back; nothing comes after this."""


class Union:
    """All of several sinks, each whether or not the ones before it could."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    async def start(self) -> None:
        for sink in self._sinks:
            await sink.start()

    async def process(self, events: Sequence[bytes]) -> bool:
        results = [await sink.process(events) for sink in self._sinks]
        return all(results)

    async def stop(self) -> None:
        await asyncio.gather(*(sink.stop() for sink in self._sinks))


class Forgiving:
    """A sink whose failures are nobody else's: they are counted, and that is all."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def start(self) -> None:
        await self._sink.start()

    async def process(self, events: Sequence[bytes]) -> bool:
        await self._sink.process(events)
        return True

    async def stop(self) -> None:
        await self._sink.stop()


class Failures:
    """Where sinks report the events that were lost."""

    def __init__(self, metrics: AuditMetrics, log: Log) -> None:
        self._metrics = metrics
        self._log = log

    def report(self, plugin: str, error: str, impacted: Sequence[bytes]) -> None:
        self._metrics.errors.inc((plugin,), len(impacted))
        texts = "\n".join(event_text(event) for event in impacted)
        self._log.error("audit_plugin_failed", plugin=plugin, events=len(impacted), error=error, impacted=texts)
