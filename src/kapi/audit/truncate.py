"""Truncation: what is too large goes without its objects, or not at all; batches are split by their size."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from kapi.audit.batching import Sizes
from kapi.audit.policy import LEVELS, Level
from kapi.audit.sink import Failures, Sink

_PLUGIN = "truncate"
_MARK = "audit.k8s.io/truncated"


class Truncating:
    def __init__(self, sink: Sink, sizes: Sizes, failures: Failures) -> None:
        self._sink = sink
        self._sizes = sizes
        self._failures = failures

    async def start(self) -> None:
        await self._sink.start()

    async def stop(self) -> None:
        await self._sink.stop()

    async def process(self, events: Sequence[bytes]) -> bool:
        batch: list[bytes] = []
        batch_size, success = 0, True
        lost: list[bytes] = []
        for event in events:
            kept = event if _size(event) <= self._sizes.max_event else _truncated(event)
            size = _size(kept)
            if size > self._sizes.max_event:
                lost.append(kept)
                continue
            if batch and batch_size + size > self._sizes.max_batch:
                success = await self._sink.process(batch) and success
                batch, batch_size = [], 0
            batch.append(kept)
            batch_size += size
        if batch:
            success = await self._sink.process(batch) and success
        if lost:
            self._failures.report(_PLUGIN, "event is too large even after truncating", lost)
        return success


def _size(event: bytes) -> int:
    return len(event) + 1  # the line's end counts


def _truncated(event: bytes) -> bytes:
    said = orjson.loads(event)
    if LEVELS[said["level"]] < Level.REQUEST:
        return event
    said.pop("requestObject", None)
    said.pop("responseObject", None)
    said["annotations"] = dict(sorted({**said.get("annotations", {}), _MARK: "true"}.items()))
    return orjson.dumps(said)
