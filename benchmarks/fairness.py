"""What a flood by one user does to another's requests, with priority and fairness and without.

Two floods. Reads: many connections that ask for an object as fast as they can, which takes all of the server's core.
Writes: more than the server takes at a time, each slow to send, so that it is under way for a while. The other user
asks for one thing after the other; told are its latency and how many of its requests were refused: alone, and during
the flood, with one limit for all and with fair queues.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import ssl
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from load import MAPS, Ask, Connection, config_map
from target import Target

from kapi.wire import loop

HOLD_SECONDS = 1.0


def main() -> int:
    asked = arguments()
    print(f"{'':<30}{'median':>10}{'99th':>10}{'worst':>10}{'served':>9}{'refused':>9}")
    for fair, name in (("false", "one limit"), ("true", "fair queues")):
        with tempfile.TemporaryDirectory(prefix="kapi-bench-") as folder:
            target = Target(Path(folder), enable_priority_and_fairness=fair)
            target.start()
            try:
                loop.run(measure_reads(target, asked, name))
                loop.run(measure_writes(target, asked, name))
            finally:
                target.stop()
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/fairness.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each measurement lasts (default: 5)")
    parser.add_argument("--connections", type=int, default=300, help="of the flood (default: 300)")
    return parser.parse_args()


async def measure_reads(target: Target, asked: argparse.Namespace, name: str) -> None:
    admin = await Connection.open(target, target.context())
    await admin.ask(Ask("POST", MAPS, config_map("read"), status=201))
    admin.close()
    print(f"{name + ', reads, quiet':<30}{await modest_reads(target, asked.seconds)}")
    # In a process of its own: the modest client must not wait for the flood's.
    flooding = multiprocessing.get_context("fork").Process(target=flood_reads, args=(target, asked.connections))
    flooding.start()
    try:
        await asyncio.sleep(1.0)
        print(f"{name + ', reads, flood':<30}{await modest_reads(target, asked.seconds)}")
    finally:
        flooding.kill()
        flooding.join()


def flood_reads(target: Target, connections: int) -> None:
    async def ask(context: ssl.SSLContext) -> None:
        connection = await Connection.open(target, context)
        for _ in count():
            with suppress(RuntimeError):  # refused: again
                await connection.ask(Ask("GET", f"{MAPS}/read"))

    async def run() -> None:
        context = target.context("flood", "readers")
        await asyncio.gather(*(ask(context) for _ in range(connections)))

    loop.run(run())


async def modest_reads(target: Target, seconds: float) -> Experience:
    connection = await Connection.open(target, target.context("modest", "readers"))
    latencies: list[float] = []
    refused = 0
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        try:
            await connection.ask(Ask("GET", f"{MAPS}/read"))
            latencies.append(time.perf_counter() - began)
        except RuntimeError:
            refused += 1
        await asyncio.sleep(0.002)
    connection.close()
    return Experience(latencies, refused)


async def measure_writes(target: Target, asked: argparse.Namespace, name: str) -> None:
    print(f"{name + ', writes, quiet':<30}{await modest(target, asked.seconds)}")
    writer = Writer(target, "flood")
    flooding = []
    for number in range(asked.connections):
        flooding.append(asyncio.create_task(flood(writer, f"flood-{number}")))
        await asyncio.sleep(4 * HOLD_SECONDS / asked.connections)  # not all in step
    print(f"{name + ', writes, flood':<30}{await modest(target, asked.seconds)}")
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
