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
    if isinstance(value, str):
        return go_quote(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def go_struct(value: Any) -> Any:
    """A refused object by Go's field names, which is how upstream shows one."""
    if isinstance(value, dict):
        return {key[:1].upper() + key[1:]: go_struct(item) for key, item in value.items()}
    return [go_struct(item) for item in value] if isinstance(value, list) else value


GO_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def go_quote(text: str) -> str:
    """As Go's strconv.Quote."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_go_escape(c) for c in text) + '"'


def _go_escape(c: str) -> str:
    if c in GO_ESCAPES:
        return GO_ESCAPES[c]
    if c.isprintable():
        return c
    code = ord(c)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def required(path: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", path, detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, detail, value)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", path, detail, value)


def not_supported(path: str, value: Any, supported: Sequence[str], *, in_order: bool = False) -> FieldError:
    """The allowed values are listed sorted, unless upstream lists them `in_order`; quoted."""
    shown = ", ".join(json.dumps(v) for v in (supported if in_order else sorted(supported)))
    return FieldError("FieldValueNotSupported", path, f"supported values: {shown}" if shown else "", value)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", path, detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", path, "", value)


def internal_error(path: str, detail: str) -> FieldError:
    return FieldError("InternalError", path, detail)


def not_found(path: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", path, "", value)


def internal(path: str, detail: str) -> FieldError:
    return FieldError("InternalError", path, detail)


def too_long(path: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", path, f"may not be more than {limit} bytes" if limit >= 0 else "")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", path, f"must have at most {limit} items" if limit >= 0 else "", actual)
