"""What kapi costs: start, memory, and the server's CPU time for each kind of request, over TLS on the embedded store.

The load comes from Python on the same machine, so the rates say little; the CPU times are the server's alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any

from load import JSON, MAPS, Ask, Connection, Figures, config_map, fan_out, fill, hammer
from target import Target

from kapi.wire import loop

CLIENTS = 16
LISTED = 1000
PUBLIC = "/api/v1/namespaces/kube-public/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def main() -> int:
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="kapi-bench-") as folder:
        target = Target(Path(folder))
        target.start()  # the first start creates what later ones find
        stops, starts = [], []
        for _ in range(asked.starts):
            stops.append(target.stop())
            starts.append(target.start())
        memory = target.metric("process_resident_memory_bytes")
        try:
            measured = loop.run(measure(target, asked.only, asked.seconds))
            after = target.metric("process_resident_memory_bytes")
        finally:
            target.stop()
    report = {
        "start_seconds": min(starts),
        "stop_seconds": min(stops),
        "memory_idle_bytes": memory,
        "memory_after_bytes": after,
        "operations": {
            name: asdict(figures) | {"cpu_microseconds": figures.cpu_microseconds} for name, figures in measured.items()
        },
    }
    print(json.dumps(report, indent=2) if asked.output == "json" else table(report, measured))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each kind of request lasts (default: 2)")
    parser.add_argument("--starts", type=int, default=5, help="how often it is started; the best counts (default: 5)")
    parser.add_argument("--only", default="", help="kinds of requests, separated by commas (default: all)")
    return parser.parse_args()


async def measure(target: Target, only: str, seconds: float) -> dict[str, Figures]:
    chosen = only.split(",") if only else list(OPERATIONS)
    if unknown := set(chosen) - set(OPERATIONS):
        sys.exit(f"no such operation: {', '.join(sorted(unknown))}; there are {', '.join(OPERATIONS)}")
    await prepare(target)
    return {name: await OPERATIONS[name](target, seconds) for name in chosen}


async def prepare(target: Target) -> None:
    """An object for each client, and a thousand to list."""
    connection = await Connection.open(target, target.context())
    for client in range(CLIENTS):
        await connection.ask(Ask("POST", MAPS, config_map(f"one-{client}"), status=201))
    connection.close()
    await fill(target, LISTED)


Operation = Callable[[Target, float], Coroutine[Any, Any, Figures]]


def requests(ask: Callable[[int, int], Ask], clients: int = CLIENTS) -> Operation:
    return lambda target, seconds: hammer(target, ask, clients, seconds)


def one(client: int) -> str:
    return f"{MAPS}/one-{client}"


OPERATIONS: dict[str, Operation] = {
    "get": requests(lambda client, _: Ask("GET", one(client))),
    "get-any": requests(lambda client, _: Ask("GET", f"{one(client)}?resourceVersion=0")),
    "create": requests(lambda client, turn: Ask("POST", MAPS, config_map(f"new-{client}-{turn}"), status=201)),
    "create-serial": requests(lambda _, turn: Ask("POST", MAPS, config_map(f"serial-{turn}"), status=201), clients=1),
    "update": requests(lambda client, turn: Ask("PUT", one(client), config_map(f"one-{client}", str(turn % 10)))),
    "merge-patch": requests(
        lambda client, turn: Ask(
            "PATCH", one(client), b'{"data":{"key-1":"%d"}}' % turn, "application/merge-patch+json"
        )
    ),
    "apply": requests(
        lambda client, turn: Ask(
            "PATCH",
            f"{one(client)}?fieldManager=bench&force=true",
            config_map(f"one-{client}", str(turn % 10)),
            "application/apply-patch+yaml",
        )
    ),
    "list-1000": requests(lambda *_: Ask("GET", PUBLIC), clients=2),
    "list-page-100": requests(lambda *_: Ask("GET", f"{PUBLIC}?limit=100"), clients=2),
    "list-table": requests(lambda *_: Ask("GET", PUBLIC, accept=f"{TABLE},{JSON}"), clients=2),
    "watch-event": lambda target, seconds: fan_out(target, watchers=100, events=int(100 * seconds)),
}


def table(report: dict[str, Any], measured: dict[str, Figures]) -> str:
    lines = [
        f"start to ready     {report['start_seconds']:8.3f} s",
        f"graceful stop      {report['stop_seconds']:8.3f} s",
        f"memory, idle       {report['memory_idle_bytes'] / 1e6:8.1f} MB",
        f"memory, after load {report['memory_after_bytes'] / 1e6:8.1f} MB",
        "",
        f"{'operation':<16}{'CPU per operation':>20}{'rate':>14}{'operations':>12}",
    ]
    for name, figures in measured.items():
        rate = figures.operations / figures.seconds
        lines.append(f"{name:<16}{figures.cpu_microseconds:>17,.0f} µs{rate:>12,.0f}/s{figures.operations:>12,}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
