"""What custom resource definitions cost: to create, in memory, at the next start, and in discovery."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from load import Ask, Connection
from target import Target

from kapi.wire import loop

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ASKED = {"/apis": AGGREGATED, "/openapi/v3": "application/json", DEFINITIONS: "application/json"}
CLIENTS = 4
STARTS = 3
PART = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "string"}}}
SPEC = {"replicas": {"type": "integer", "minimum": 0}, "image": {"type": "string"}}
SPEC_SCHEMA = {"type": "object", "properties": {**SPEC, "parts": {"type": "array", "items": PART}}}
SCHEMA = {"type": "object", "properties": {"spec": SPEC_SCHEMA}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/definitions.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=1000, help="definitions (default: 1000)")
    parser.add_argument("--groups", type=int, default=50, help="groups that they are spread over (default: 50)")
    parser.add_argument("--ask", action="store_true", help="list the objects of each once it is there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kapi-bench-") as folder:
        target = Target(Path(folder))
        target.start()
        empty, idle = restarts(target)
        created = target.cpu_seconds()
        loop.run(create(target, asked))
        loop.run(settled(target))
        created = target.cpu_seconds() - created
        burst = target.metric("process_resident_memory_bytes") - idle
        full, restarted = restarts(target)
        try:
            print(f"{asked.count} definitions in {asked.groups} groups")
            print(f"create         {created / asked.count * 1e3:8.2f} ms of CPU each")
            print(f"memory, burst  {burst / asked.count / 1024:8.1f} KB each")
            print(f"memory, later  {(restarted - idle) / asked.count / 1024:8.1f} KB each")
            print(f"start          {empty:8.2f} s without, {full:.2f} s with them")
            loop.run(tell(target))
        finally:
            target.stop()
    return 0


def restarts(target: Target) -> tuple[float, float]:
    """The best start, and the memory after it."""
    starts = []
    for _ in range(STARTS):
        target.stop()
        starts.append(target.start())
    return min(starts), target.metric("process_resident_memory_bytes")


async def create(target: Target, asked: argparse.Namespace) -> None:
    waiting = list(range(asked.count))

    async def client() -> None:
        connection = await Connection.open(target, target.context())
        while waiting:
            number = waiting.pop()
            group = f"g{number % asked.groups}.bench.example.com"
            await connection.ask(Ask("POST", DEFINITIONS, definition(number, group), status=201))
            if asked.ask:
                await connection.ask(Ask("GET", f"/apis/{group}/v1/thing{number}s"))
        connection.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(client())


def definition(number: int, group: str) -> bytes:
    kind = f"Thing{number}"
    names = {"plural": f"{kind.lower()}s", "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return json.dumps(body).encode()


async def settled(target: Target) -> None:
    """Until the server rests: what looks after definitions is done with them."""
    before = -1.0
    while target.cpu_seconds() - before > 0.01:
        before = target.cpu_seconds()
        await asyncio.sleep(0.5)


async def tell(target: Target) -> None:
    connection = await Connection.open(target, target.context())
    for path, accept in ASKED.items():
        times = []
        for _ in range(4):
            began = time.perf_counter()
            body = await connection.ask(Ask("GET", path, accept=accept))
            times.append(time.perf_counter() - began)
        print(f"GET {path}: {len(body) >> 10} KB, first {times[0] * 1e3:.1f} ms, then {min(times[1:]) * 1e3:.1f} ms")
    connection.close()


if __name__ == "__main__":
    sys.exit(main())
