"""What classes tell their drivers: who they are, and parameters that only they understand."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid, required, too_long
from kapi.api.names import label_key

_MAX_BYTES = 256 * 1024
_MAX_COUNT = 512


def validate_driver(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name.lower(), e) for e in label_key(name.lower())] if name else []


def validate_parameters(parameters: dict[str, str], path: str, *, needed: bool = False) -> list[FieldError]:
    if len(parameters) > _MAX_COUNT:
        return [too_long(path, _MAX_COUNT)]
    errors = [invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > _MAX_BYTES:
        errors.append(too_long(path, _MAX_BYTES))
    if needed and not parameters:
        errors.append(required(path, "must contain at least one key/value pair"))
    return errors
