"""Times as Kubernetes reads and writes them: RFC 3339 in UTC, with whole seconds (Time) or microseconds (MicroTime).

Reading is as strict as Go's layouts and fails in Go's words.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_SECONDS_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_CANONICAL = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]", re.ASCII
)
_ZONE = re.compile(r"Z|([+-])([0-9]{2}):([0-9]{2})", re.ASCII)
# The parts of the layout in order: what is expected, how Go's layout writes it, what is out of range.
_PARTS = (
    (re.compile(r"[0-9]{4}", re.ASCII), "2006", ""),
    (re.compile(r"-"), "-", ""),
    (re.compile(r"[0-9]{2}", re.ASCII), "01", "month"),
    (re.compile(r"-"), "-", ""),
    (re.compile(r"[0-9]{2}", re.ASCII), "02", "day"),
    (re.compile(r"T"), "T", ""),
    (re.compile(r"[0-9]{1,2}", re.ASCII), "15", "hour"),
    (re.compile(r":"), ":", ""),
    (re.compile(r"[0-9]{2}", re.ASCII), "04", "minute"),
    (re.compile(r":"), ":", ""),
    (re.compile(r"[0-9]{2}", re.ASCII), "05", "second"),
)
_RANGES = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_FRACTION = re.compile(r"[.,][0-9]+", re.ASCII)
_UNQUOTED = re.compile(r'["\\\x00-\x1f\x80-\U0010ffff]')
_MICROSECONDS = re.compile(r"[.,][0-9]{6}", re.ASCII)


class TimeError(ValueError):
    """The text is no time; the message is Go's."""


def canonical_time(text: str) -> str:
    """As metav1.Time writes it: whole seconds, UTC. Empty for Go's zero time."""
    if len(text) == 20 and text[19] == "Z" and _CANONICAL.match(text):
        return "" if text == "0001-01-01T00:00:00Z" else text
    when = parse_time(text)
    return "" if when is None else f"{_wall(when)}Z"


def canonical_micro_time(text: str) -> str:
    """As metav1.MicroTime writes it: microseconds, UTC. Empty for Go's zero time."""
    if (
        len(text) == 27
        and text[26] == "Z"
        and _CANONICAL.match(text)
        and _MICROSECONDS.match(text, 19)
        and text[19] == "."
    ):
        return "" if text == "0001-01-01T00:00:00.000000Z" else text
    when = _parse(text, _MICRO_LAYOUT, micro=True)
    return "" if when is None else f"{_wall(when)}.{when.microsecond:06d}Z"


def parse_time(text: str) -> datetime | None:
    """The time of an RFC 3339 text, fractions allowed, in UTC; None for Go's zero time; TimeError otherwise."""
    return _parse(text, _SECONDS_LAYOUT, micro=False)


def _wall(when: datetime) -> str:
    return f"{when.year:04d}-{when.month:02d}-{when.day:02d}T{when.hour:02d}:{when.minute:02d}:{when.second:02d}"


def _parse(text: str, layout: str, *, micro: bool) -> datetime | None:
    position, numbers = 0, []
    for pattern, wanted, name in _PARTS:
        match = pattern.match(text, position)
        if match is None:
            raise _mismatch(text, layout, position, wanted)
        if wanted[0].isdigit():
            number = int(match[0])
            if name and not _RANGES[name][0] <= number <= _RANGES[name][1]:
                raise TimeError(f"parsing time {_quote(text)}: {name} out of range")
            numbers.append(number)
        position = match.end()
    fraction = (_MICROSECONDS if micro else _FRACTION).match(text, position)
    if fraction is None and micro:
        raise _mismatch(text, layout, position, ".000000")
    position = fraction.end() if fraction else position
    zone = _ZONE.match(text, position)
    if zone is None:
        raise _mismatch(text, layout, position, "Z07:00")
    if zone.end() != len(text):
        raise TimeError(f"parsing time {_quote(text)}: extra text: {_quote(text[zone.end() :])}")
    return _utc(text, numbers, int(fraction[0][1:7].ljust(6, "0")) if fraction else 0, zone)


def _utc(text: str, numbers: list[int], microsecond: int, zone: re.Match[str]) -> datetime | None:
    year, month, day, hour, minute, second = numbers
    offset = timedelta()
    if zone[1]:
        hours, minutes = int(zone[2]), int(zone[3])
        if hours > 24 or minutes > 60:
            raise TimeError(
                f"parsing time {_quote(text)}: time zone offset {'hour' if hours > 24 else 'minute'} out of range"
            )
        offset = timedelta(hours=hours, minutes=minutes) * (1 if zone[1] == "+" else -1)
    try:
        when = datetime(year, month, day, hour, minute, second, microsecond, UTC)
    except ValueError:
        raise TimeError(f"parsing time {_quote(text)}: day out of range") from None
    try:
        when -= offset
    except OverflowError:
        raise TimeError(f"parsing time {_quote(text)}: year out of range") from None
    return None if when == datetime(1, 1, 1, tzinfo=UTC) else when


def _mismatch(text: str, layout: str, position: int, wanted: str) -> TimeError:
    return TimeError(f'parsing time {_quote(text)} as "{layout}": cannot parse {_quote(text[position:])} as "{wanted}"')


def _quote(text: str) -> str:
    """As Go's time package quotes: what is not printable ASCII by its bytes."""
    return f'"{_UNQUOTED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    return f"\\{found}" if found in '"\\' else "".join(f"\\x{byte:02x}" for byte in found.encode())
