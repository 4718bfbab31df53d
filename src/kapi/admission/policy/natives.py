"""Values of expressions as Go holds them: what JSON has no value for does not fit where JSON is expected."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kapi.cel.conversions import to_string
from kapi.cel.types import CelType
from kapi.cel.values import Duration, Optional, Timestamp, Uint
from kapi.patch.values import GoValue

_NULL = GoValue(plain="NULL_VALUE", syntax="0", type="structpb.NullValue")


def native(value: Any) -> Any:
    """The value with everything in it that is not of JSON replaced by what Go makes of it."""
    if isinstance(value, dict):
        return {key: native(item) for key, item in value.items()}
    if isinstance(value, list):
        return [native(item) for item in value]
    if value is None:
        return _NULL
    if isinstance(value, Uint):
        return GoValue(plain=str(int(value)), syntax=hex(value), type="uint64")
    if isinstance(value, bytes):
        shown = ", ".join(f"{byte:#x}" for byte in value)
        return GoValue(plain=f"[{' '.join(map(str, value))}]", syntax=f"[]uint8{{{shown}}}", type="[]uint8")
    if isinstance(value, Duration):
        return GoValue(plain=to_string(value), syntax=str(value.nanoseconds), type="time.Duration")
    if isinstance(value, Timestamp):
        return _time(value)
    if isinstance(value, Optional):
        return native(value.value) if value.present else None
    if isinstance(value, CelType):
        return to_string(value)
    return value


def _time(value: Timestamp) -> GoValue:
    seconds, nanoseconds = divmod(value.nanoseconds, 1_000_000_000)
    at = datetime.fromtimestamp(seconds, UTC)
    parts = f"{at.year}, time.{at:%B}, {at.day}, {at.hour}, {at.minute}, {at.second}, {nanoseconds}"
    fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
    plain = f"{at:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"
    return GoValue(plain=plain, syntax=f"time.Date({parts}, time.UTC)", type="time.Time")
