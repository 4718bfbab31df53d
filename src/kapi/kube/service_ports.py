"""Node ports: which are taken is one stored bitmap, changed by compare-and-swap, so that servers never share a port.

Key and value are upstream's (`ranges/servicenodeports`, a RangeAllocation), so that servers of both kinds agree.
"""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import Callable, Iterable

from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.kube.service_network import AllocationError, Full, Taken, static_band
from kapi.registry.translate import storage_errors
from kapi.storage.cacher.entry import Entry, Shape
from kapi.storage.objects import KEEP, Decision, ObjectStore, Write

SHAPE = Shape(kind="RangeAllocation", api_version="v1", fields_of=lambda _: {})
PREFIX = "ranges"
_KEY = "servicenodeports"
RESOURCE = GroupResource("", "rangeallocations")


class NodePorts:
    """The node ports of `ports`, taken and given back one at a time here; other servers are met in the store."""

    def __init__(self, store: ObjectStore, ports: range) -> None:
        self.ports = ports
        self._store = store
        self._key = store.prefix + _KEY
        self._band = static_band(len(ports), step=32, most=128)
        self._lock = asyncio.Lock()

    async def take(self, port: int) -> None:
        if port not in self.ports:
            raise AllocationError(
                f"provided port is not in the valid range. The range of valid ports is {self._range_text}"
            )
        bit = 1 << port - self.ports.start

        def change(taken: int) -> int:
            if taken & bit:
                raise Taken("provided port is already allocated")
            return taken | bit

        await self.change(change)

    async def take_any(self) -> int:
        """A free port; the first ones only when all others are taken."""
        found = 0

        def change(taken: int) -> int:
            nonlocal found
            offset = _free(taken, self._band, len(self.ports))
            if offset is None:
                offset = _free(taken, 0, self._band)
            if offset is None:
                raise Full
            found = offset
            return taken | 1 << offset

        await self.change(change)
        return self.ports[found]

    async def give_back(self, ports: Iterable[int]) -> None:
        """Those that are not taken, or not of this range, are passed over."""
        bits = self.bits(ports)
        if bits:
            await self.change(lambda taken: taken & ~bits)

    async def taken(self) -> int:
        """The bitmap: one bit per port, the first port's lowest."""
        with storage_errors(RESOURCE):
            return self._read(await self._store.get(self._key, None))

    def bits(self, ports: Iterable[int]) -> int:
        bits = 0
        for port in ports:
            if port in self.ports:
                bits |= 1 << port - self.ports.start
        return bits

    def numbers(self, bits: int) -> list[int]:
        return [port for i, port in enumerate(self.ports) if bits >> i & 1]

    async def change(self, compute: Callable[[int], int]) -> None:
        """Store what `compute` makes of the bitmap; it may be asked again, when another server was faster."""

        async def decide(current: Entry | None) -> Decision:
            before = self._read(current)
            after = compute(before)
            if after == before and current is not None:
                return KEEP
            return Write(self._store.encode(self._object(after)))

        async with self._lock:
            with storage_errors(RESOURCE):
                await self._store.update(self._key, decide, create=True)

    @property
    def _range_text(self) -> str:
        return f"{self.ports.start}-{self.ports[-1]}"

    def _object(self, taken: int) -> Object:
        data = taken.to_bytes((taken.bit_length() + 7) // 8, "big")
        return {"metadata": {}, "range": self._range_text, "data": base64.b64encode(data).decode()}

    def _read(self, entry: Entry | None) -> int:
        if entry is None:
            return 0
        stored = entry.object
        taken: int = int.from_bytes(base64.b64decode(stored.get("data") or ""), "big")
        low = int((stored.get("range") or self._range_text).partition("-")[0])
        # Another range than before: the ports keep their numbers, and those outside are forgotten.
        moved: int = taken >> self.ports.start - low if low < self.ports.start else taken << low - self.ports.start
        return moved & (1 << len(self.ports)) - 1


def _free(taken: int, low: int, high: int) -> int | None:
    """Where a bit in between is clear, looked for from a random place on."""
    if low >= high:
        return None
    start = random.randrange(low, high)
    for part in (range(start, high), range(low, start)):
        for offset in part:
            if not taken >> offset & 1:
                return offset
    return None
