"""Timestamps and durations: reading, writing, and their parts in a time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache

from kapi.api.duration import DurationError
from kapi.api.duration import parse_duration as go_duration
from kapi.cel.operators import TIME_MAX, TIME_MIN, duration_result
from kapi.cel.values import Duration, EvaluationError, Timestamp

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> Timestamp | None:
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction = int((match.group(7) or "").ljust(9, "0")[:9])
    offset = 0
    if match.group(9):
        hours, minutes = int(match.group(10)), int(match.group(11))
        if hours > 24 or minutes > 59:
            return None
        offset = (hours * 3600 + minutes * 60) * (-1 if match.group(9) == "-" else 1)
    try:
        seconds = (datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
    except ValueError:
        return None
    nanoseconds = (seconds - offset) * 10**9 + fraction
    if not TIME_MIN <= nanoseconds <= TIME_MAX:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds, offset)


def format_timestamp(value: Timestamp) -> str:
    seconds, fraction = divmod(value.nanoseconds, 10**9)
    text = _local(seconds + value.offset).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    if fraction:
        text += "." + f"{fraction:09d}".rstrip("0")
    if not value.offset:
        return text + "Z"
    minutes = abs(value.offset) // 60
    return f"{text}{'-' if value.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def parse_duration(text: str) -> Duration | None:
    """As Go's time.ParseDuration: signed decimal numbers, each with a unit."""
    try:
        return duration_result(go_duration(text))
    except DurationError:
        return None


def format_duration(value: Duration) -> str:
    seconds = value.nanoseconds / 10**9
    return format(Decimal(repr(seconds)), "f").removesuffix(".0") + "s"


def _local(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Local"):  # where servers run, local time is UTC
        return UTC
    if ".." in name or name.startswith("/") or "\\" in name:
        raise EvaluationError("time: invalid location name")
    from zoneinfo import ZoneInfo  # only for expressions that name a zone: reading the database costs milliseconds

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise EvaluationError(f"unknown time zone {name}") from None


@lru_cache(maxsize=64)
def _offset(name: str) -> timedelta:
    hours, minutes = (_atoi(part) for part in name.split(":", 1))
    if not 0 <= minutes <= 59:
        raise EvaluationError(f"timezone offset minutes out of range [0, 59]: {name}")
    return timedelta(hours=hours, minutes=-minutes if name.startswith("-") else minutes)


def _atoi(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def in_zone(value: Timestamp, zone: str) -> datetime:
    """The wall clock of a moment in a zone."""
    moment = _local(value.nanoseconds // 10**9)
    try:
        return moment + _offset(zone) if ":" in zone else moment.astimezone(_zone(zone))
    except OverflowError:
        return moment


def year(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).year


def month(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).month - 1


def day_of_year(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).timetuple().tm_yday - 1


def day_of_month(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).day - 1


def date(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).day


def day_of_week(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).isoweekday() % 7


def hours(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).hour


def minutes(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).minute


def seconds(value: Timestamp, zone: str = "") -> int:
    return in_zone(value, zone).second


def milliseconds(value: Timestamp, zone: str = "") -> int:
    in_zone(value, zone)
    return value.nanoseconds % 10**9 // 10**6


def whole(value: Duration, unit: int) -> int:
    """A duration in whole units, cut towards zero."""
    count = abs(value.nanoseconds) // unit
    return -count if value.nanoseconds < 0 else count
