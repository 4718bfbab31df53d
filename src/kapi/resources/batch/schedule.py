"""Schedules in cron's five fields, checked and refused as upstream's parser does."""

from __future__ import annotations

import re
from typing import NamedTuple

from kapi.api.duration import DurationError, parse_duration
from kapi.api.fields import go_quote
from kapi.resources.batch.zones import is_time_zone

_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "


class ScheduleError(ValueError):
    """The schedule cannot be understood; the text says why."""


class _Bounds(NamedTuple):
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Bounds(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def check_schedule(schedule: str) -> None:
    if not schedule:
        raise ScheduleError("empty spec string")
    schedule = _without_zone(schedule)
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in field.split(","):
            if expression:
                _check_range(expression, bounds)


def _without_zone(schedule: str) -> str:
    if not schedule.startswith(("TZ=", "CRON_TZ=")):
        return schedule
    zone, space, rest = schedule.partition(" ")
    if not space:
        raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
    zone = zone.partition("=")[2]
    if zone and zone != "Local" and not is_time_zone(zone):
        raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
    return rest.strip()


def _check_descriptor(descriptor: str) -> None:
    if descriptor in _DESCRIPTORS:
        return
    if not descriptor.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {descriptor}")
    try:
        parse_duration(descriptor.removeprefix(_EVERY))
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {descriptor}: {error}") from None


def _check_range(expression: str, bounds: _Bounds) -> None:
    """`*`, `n`, `n-m`, each with an optional `/step`."""
    span, *steps = expression.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = bounds.least, bounds.most
    else:
        start = _number(ends[0], bounds)
        end = start if len(ends) == 1 else _number(ends[1], bounds)
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = _integer(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        end = bounds.most
    if start < bounds.least:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")


def _number(text: str, bounds: _Bounds) -> int:
    name = text.lower()
    return bounds.names.index(name) + bounds.least if name in bounds.names else _integer(text)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        why = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    number = int(text)
    if not -(1 << 63) <= number < 1 << 63:
        why = f"strconv.Atoi: parsing {go_quote(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
