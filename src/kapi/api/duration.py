"""Durations as Go reads and writes them: `1h30m`, `1.5s`, `300ms`. A duration is a whole number of nanoseconds."""

from __future__ import annotations

import json
import re

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_LIMIT = 1 << 63
_MOST_DIGITS = 19

SECOND = _UNITS["s"]


class DurationError(ValueError):
    """The text is no duration; the message is Go's."""


def parse_duration(text: str) -> int:
    """Nanoseconds; DurationError with Go's wording."""
    quoted = json.dumps(text, ensure_ascii=False)
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f"time: invalid duration {quoted}")
    total = position = 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[2]):
            raise DurationError(f"time: invalid duration {quoted}")
        if not match[3]:
            raise DurationError(f"time: missing unit in duration {quoted}")
        unit = _UNITS.get(match[3])
        if unit is None:
            raise DurationError(f"time: unknown unit {json.dumps(match[3], ensure_ascii=False)} in duration {quoted}")
        # Digits beyond a duration's range are not read: they would only cost time.
        whole, fraction = match[1].lstrip("0"), (match[2] or "")[:_MOST_DIGITS]
        if len(whole) > _MOST_DIGITS:
            raise DurationError(f"time: invalid duration {quoted}")
        total += int(whole or "0") * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        if total > _LIMIT or (total == _LIMIT and sign > 0):
            raise DurationError(f"time: invalid duration {quoted}")
        position = match.end()
    return sign * total


def format_duration(nanoseconds: int) -> str:
    """As time.Duration prints it: `1h30m0s`, `1.5s`, `300ms`, `0s`."""
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if not left:
        return "0s"
    if left < SECOND:
        for name in ("ms", "µs", "ns"):
            if left >= _UNITS[name]:
                return f"{sign}{_decimal(left, _UNITS[name])}{name}"
    minutes, rest = divmod(left, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if minutes or hours:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")
