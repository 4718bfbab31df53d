"""Compaction of an embedded engine: history older than one interval goes, as upstream does it to etcd."""

from __future__ import annotations

import asyncio

from kapi.storage.kv import KV, StorageError
from kapi.telemetry.log import log


async def compact_regularly(engine: KV, interval: float) -> None:
    """Until cancelled. Each round forgets what was history already in the round before; 0 means never."""
    if interval <= 0:
        return
    previous = await engine.revision()
    while True:
        await asyncio.sleep(interval)
        try:
            current = await engine.revision()
            if previous > (await engine.stats()).compacted:
                await engine.compact(previous)
                log.debug(4, "store_compacted", revision=previous)
            previous = current
        except StorageError as error:
            log.error("store_compaction_failed", error=str(error))
