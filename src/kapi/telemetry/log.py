"""The log: events with fields, written as klog text or as JSON lines."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, TextIO

import orjson

_LETTERS = {"info": "I", "warning": "W", "error": "E"}


class Log:
    """One per process. `verbosity` is the `-v` flag: `log.debug(level, …)` is written from that level on."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.verbosity = 0
        self.format = "text"
        self._lock = threading.Lock()

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("error", event, fields)

    def debug(self, level: int, event: str, **fields: Any) -> None:
        if level <= self.verbosity:
            self._write("info", event, fields)

    def _write(self, severity: str, event: str, fields: dict[str, Any]) -> None:
        now = time.time()
        if self.format == "json":
            record = {"ts": now * 1000, "level": severity, "msg": event, **fields}
            line = orjson.dumps(record, default=str).decode() + "\n"
        else:
            stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1e6):06d}"
            pairs = "".join(f" {k}={_text(v)}" for k, v in fields.items())
            line = f'{_LETTERS[severity]}{stamp} {os.getpid():7d}] "{event}"{pairs}\n'
        with self._lock:
            stream = self.stream or sys.stderr
            stream.write(line)
            stream.flush()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return orjson.dumps(value).decode() if value.isprintable() else repr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else f'"{value}"'


log = Log()
