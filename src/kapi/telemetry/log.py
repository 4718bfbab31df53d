"""The log: events with fields, written as klog text or as JSON lines.

Writing never fails the caller: a log that cannot be written (a closed pipe, a full disk) is lost, the server lives on.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

import orjson

_LETTERS = {"info": "I", "warning": "W", "error": "E"}


class Log:
    """One per process. `verbosity` is the `-v` flag: `log.debug(level, …)` is written from that level on."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.verbosity = 0
        self.format = "text"
        self.observer: Callable[[str, dict[str, Any]], None] | None = None  # is told of every event that is written
        self._lock = threading.Lock()

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", 0, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", 0, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("error", 0, event, fields)

    def debug(self, level: int, event: str, **fields: Any) -> None:
        if level <= self.verbosity:
            self._write("info", level, event, fields)

    def _write(self, severity: str, level: int, event: str, fields: dict[str, Any]) -> None:
        now = time.time()
        line = _json_line if self.format == "json" else _text_line
        text = line(now, severity, level, event, fields)
        # Neither a closed stream (ValueError) nor a broken pipe may fail what is being logged.
        with self._lock, contextlib.suppress(OSError, ValueError):
            stream = self.stream or sys.stderr
            stream.write(text)
            stream.flush()
        if self.observer is not None:
            self.observer(event, fields)


def _text_line(now: float, severity: str, level: int, event: str, fields: dict[str, Any]) -> str:
    """As klog: severity, month and day, time, process, then the event and its fields."""
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    pairs = "".join(f" {key}={_text(value)}" for key, value in fields.items())
    return f"{_LETTERS[severity]}{stamp}.{int(now % 1 * 1e6):06d} {os.getpid():7d}] {_text(event)}{pairs}\n"


def _json_line(now: float, severity: str, level: int, event: str, fields: dict[str, Any]) -> str:
    """As component-base's JSON format: milliseconds, verbosity of what is not an error, message, fields."""
    record: dict[str, Any] = {"ts": round(now * 1000, 4), "level": severity, "msg": event}
    if severity == "info":
        record["v"] = level
    record |= fields
    try:
        return orjson.dumps(record, default=str, option=orjson.OPT_NON_STR_KEYS).decode() + "\n"
    except TypeError:  # what orjson refuses, such as lone surrogates
        return json.dumps(record, default=str) + "\n"


def _text(value: Any) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    text = value if isinstance(value, str) else str(value)
    if "\n" in text.rstrip("\n"):
        # As klog writes values of several lines: indented, between angle brackets.
        return "<\n\t" + text.rstrip("\n").replace("\n", "\n\t") + "\n >"
    return json.dumps(text, ensure_ascii=not text.isprintable())


log = Log()
