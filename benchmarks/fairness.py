"""What a flood by one user does to another's requests, with priority and fairness and without.

The flood's writes are slow to send, so that each is under way for a while, and there are more of them than the server
takes at a time. The other user writes one small object after the other; told are its latency and how many of its writes
were refused: alone, and during the flood, with one limit for all and with fair queues.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import NamedTuple

from load import MAPS, Ask, Connection, config_map
from target import Target

from kapi.wire import loop

HOLD_SECONDS = 1.0


def main() -> int:
    asked = arguments()
    print(f"{'':<24}{'median':>10}{'99th':>10}{'worst':>10}{'served':>9}{'refused':>9}")
    for fair, name in (("false", "one limit"), ("true", "fair queues")):
        with tempfile.TemporaryDirectory(prefix="kapi-bench-") as folder:
            target = Target(Path(folder), enable_priority_and_fairness=fair)
            target.start()
            try:
                loop.run(measure(target, asked, name))
            finally:
                target.stop()
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/fairness.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each measurement lasts (default: 5)")
    parser.add_argument("--connections", type=int, default=300, help="of the flood (default: 300)")
    return parser.parse_args()


async def measure(target: Target, asked: argparse.Namespace, name: str) -> None:
    print(f"{name + ', quiet':<24}{await modest(target, asked.seconds)}")
    writer = Writer(target, "flood")
    flooding = []
    for number in range(asked.connections):
        flooding.append(asyncio.create_task(flood(writer, f"flood-{number}")))
        await asyncio.sleep(4 * HOLD_SECONDS / asked.connections)  # not all in step
    print(f"{name + ', flood':<24}{await modest(target, asked.seconds)}")
    for task in flooding:
        task.cancel()
    await asyncio.gather(*flooding, return_exceptions=True)


class Writer:
    """Writes as one user. Whoever is refused has to connect anew: the server does not wait for the rest."""

    def __init__(self, target: Target, user: str) -> None:
        self._target = target
        self._context = target.context(user, "users")

    async def connect(self) -> Connection:
        return await Connection.open(self._target, self._context)

    async def write(self, connection: Connection, name: str, hold: float = 0.0) -> bool:
        try:
            status = await connection.try_slowly(Ask("POST", MAPS, config_map(name)), hold)
        except (OSError, EOFError):
            status = 429
        if status != 201:
            connection.close()
        return status == 201


async def flood(writer: Writer, name: str) -> None:
    """Its turns are all as long, so that refusals do not make it a flood of handshakes."""
    connection = await writer.connect()
    for turn in count():
        if not await writer.write(connection, f"{name}-{turn}", HOLD_SECONDS):
            await asyncio.sleep(HOLD_SECONDS)
            connection = await writer.connect()


class Experience(NamedTuple):
    """What one client saw."""

    latencies: list[float]
    refused: int

    def __str__(self) -> str:
        times = self.latencies if len(self.latencies) > 1 else [float("nan")] * 2
        shown = (statistics.median(times), statistics.quantiles(times, n=100)[98], max(times))
        return "".join(f"{1000 * value:>7.1f} ms" for value in shown) + f"{len(self.latencies):>9}{self.refused:>9}"


async def modest(target: Target, seconds: float) -> Experience:
    writer = Writer(target, "modest")
    connection = await writer.connect()
    latencies: list[float] = []
    refused = 0
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        if await writer.write(connection, f"modest-{began}"):
            latencies.append(time.perf_counter() - began)
        else:
            refused += 1
            connection = await writer.connect()
    connection.close()
    return Experience(latencies, refused)


if __name__ == "__main__":
    sys.exit(main())
