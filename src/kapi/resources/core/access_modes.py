"""How a volume may be mounted, and how that is written short."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, not_supported

MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
VOLUME_MODES = ("Block", "Filesystem")


def validate_access_modes(modes: list[str], path: str) -> list[FieldError]:
    errors = [not_supported(path, mode, tuple(MODES)) for mode in modes if mode not in MODES]
    known = set(modes) & MODES.keys()
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def short(modes: list[str] | None) -> str:
    return ",".join(abbreviation for mode, abbreviation in MODES.items() if mode in (modes or ()))
