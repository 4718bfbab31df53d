"""Validation errors of single fields, worded as Kubernetes words them.

A field path is a plain string, built as validation walks: `f"{path}.name"`, `f"{path}[{i}]"`, `f"{path}[{key}]"`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kapi.api.objects import Object

# Marks a bad value that the message leaves out (as upstream's `omitValueType`).
OMITTED = object()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with one field. `reason` is the cause's reason in the Status."""

    reason: str
    path: str
    detail: str
    value: Any = OMITTED

    _TITLES = {
        "FieldValueRequired": "Required value",
        "FieldValueInvalid": "Invalid value",
        "FieldValueNotSupported": "Unsupported value",
        "FieldValueForbidden": "Forbidden",
        "FieldValueDuplicate": "Duplicate value",
        "FieldValueTooLong": "Too long",
        "FieldValueTooMany": "Too many",
        "FieldValueTypeInvalid": "Invalid value",
        "FieldValueNotFound": "Not found",
        "InternalError": "Internal error",
    }

    @property
    def body(self) -> str:
        """The message without the path: the `message` of a Status cause."""
        title = self._TITLES[self.reason]
        text = title if self.value is OMITTED else f"{title}: {go_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"

    @property
    def cause(self) -> Object:
        cause: Object = {"reason": self.reason, "message": self.body}
        if self.path:
            cause["field"] = self.path
        return cause


def go_value(value: Any) -> str:
    """A bad value as Go's field.Error prints it: strings quoted, the rest as JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def required(path: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", path, detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, detail, value)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", path, detail, value)


def not_supported(path: str, value: Any, supported: Sequence[str]) -> FieldError:
    """The allowed values are listed sorted, quoted."""
    detail = "supported values: " + ", ".join(json.dumps(v) for v in sorted(supported)) if supported else ""
    return FieldError("FieldValueNotSupported", path, detail, value)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", path, detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", path, "", value)


def not_found(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", path, "", value)


def too_long(path: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", path, f"may not be more than {limit} bytes" if limit >= 0 else "")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", path, f"must have at most {limit} items" if limit >= 0 else "", actual)
