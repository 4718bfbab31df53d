"""Time zones by their IANA names."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, invalid

_is_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}\Z").match


def is_time_zone(name: str) -> bool:
    """Whether the zone database knows this name."""
    if name == "UTC":
        return True
    # The database is read when a schedule names a zone, which few do.
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def validate_time_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    unknown = invalid(path, zone, f"unknown time zone {zone}")
    if any(part in (".", "..") or part.startswith("-") or not _is_part(part) for part in zone.split("/")):
        return [unknown]
    errors = []
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, why))
    if zone != "Local" and not is_time_zone(zone):
        errors.append(unknown)
    return errors
