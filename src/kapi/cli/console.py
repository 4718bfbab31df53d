"""What a command says: lines for people, or one JSON document for programs (`-o json`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kapi.cli.problem import Problem


class Console:
    """Results go to standard output; progress and problems to standard error, so that results can be piped."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def progress(self, line: str) -> None:
        if not self.as_json:
            print(line, file=sys.stderr, flush=True)

    def result(self, lines: Sequence[str], document: Mapping[str, object]) -> None:
        text = _json(document) if self.as_json else "\n".join(lines)
        print(text, flush=True)

    def problem(self, problem: Problem) -> None:
        if self.as_json:
            print(_json({"error": problem.what, "next": problem.next_step}), flush=True)
            return
        print(f"kapi: {problem.what}", file=sys.stderr)
        if problem.next_step:
            print(f"      {problem.next_step}", file=sys.stderr)


def table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names and values, aligned."""
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def size(amount: int) -> str:
    value = float(amount)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def span(seconds: float) -> str:
    """As kubectl prints ages: 45s, 12m, 3h5m, 2d4h."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes}m"
    if hours < 48:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"


def _json(document: Mapping[str, object]) -> str:
    import json  # people's output does not need it

    return json.dumps(document)
