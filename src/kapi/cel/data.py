"""From JSON to CEL values, where JSON can not tell: times, bytes, lists that are sets or maps."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import date
from typing import Any

from kapi.cel.conversions import to_duration, to_timestamp
from kapi.cel.declarations import Declaration
from kapi.cel.values import EvaluationError, MapList, SetList, Timestamp

Convert = Callable[[Any], Any]


def converter(declaration: Declaration) -> Convert | None:
    """What makes CEL values of such data; None where the data can be used as it is."""
    kind = declaration.type.kind
    if kind in ("timestamp", "duration", "bytes"):
        return {"timestamp": _timestamp, "duration": _duration, "bytes": _bytes}[kind]
    if kind == "struct":
        return _object(declaration)
    if declaration.element is None:
        return None
    inner = converter(declaration.element)
    if kind == "map":
        return _mapping(inner) if inner is not None else None
    return _list(declaration, inner)


def _object(declaration: Declaration) -> Convert | None:
    parts = {field.name: made for field in declaration.fields.values() if (made := converter(field.declaration))}
    if not parts:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        changed = {name: part(value[name]) for name, part in parts.items() if value.get(name) is not None}
        return {**value, **changed}

    return convert


def _mapping(inner: Convert) -> Convert:
    return lambda value: {key: inner(item) for key, item in value.items()} if isinstance(value, dict) else value


def _list(declaration: Declaration, inner: Convert | None) -> Convert | None:
    if inner is None and declaration.list_type not in ("set", "map"):
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        items = [inner(item) for item in value] if inner is not None else value
        if declaration.list_type == "set":
            return SetList(items)
        if declaration.list_type == "map":
            return MapList(items, declaration.list_keys)
        return items

    return convert


def _timestamp(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) == 10:
        try:
            return Timestamp((date.fromisoformat(value).toordinal() - date(1970, 1, 1).toordinal()) * 86400 * 10**9)
        except ValueError:
            raise EvaluationError(f"Invalid date formatted string {value}") from None
    return to_timestamp(value)


def _duration(value: Any) -> Any:
    return to_duration(value) if isinstance(value, str) else value


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"Invalid byte formatted string {value}") from None
