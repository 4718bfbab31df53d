"""Strict decoding: unknown and duplicate fields, in the order in which Go's decoder meets them.

Only texts that seem to have duplicate keys come here; unknown fields alone are found by the schema's own walk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kapi.codec.json import Pairs
from kapi.schema.compile import MAX_PROBLEMS
from kapi.schema.types import Type


def unknown(path: str) -> str:
    return f"unknown field {quote(path)}"


def duplicate(path: str) -> str:
    return f"duplicate field {quote(path)}"


def quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def strict_problems(type_: Type | None, value: Any) -> list[str]:
    """All problems of a value of Pairs, each said once."""
    return list(islice(dict.fromkeys(_walk(type_, value, "")), MAX_PROBLEMS))


def merged(type_: Type | None, value: Any) -> Any:
    """A value of Pairs as plain dicts.

    Into structs and maps Go decodes a second member over the first; elsewhere the last one wins.
    """
    if isinstance(value, Pairs):
        members: dict[str, Any] = {}
        for key, item in value:
            before = members.get(key)
            if isinstance(before, Pairs) and isinstance(item, Pairs) and _is_merged(_child(type_, key)):
                item = Pairs([*before, *item])
            members[key] = item
        return {key: merged(_child(type_, key), item) for key, item in members.items()}
    if isinstance(value, list):
        element = type_.element if type_ is not None and type_.kind == "list" else None
        return [merged(element, item) for item in value]
    return value


def _walk(type_: Type | None, value: Any, path: str) -> Iterator[str]:
    if type_ is not None and type_.kind == "any" and type_.format:
        return  # reads its JSON by itself
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            inner = f"{path}.{key}" if path else key
            if type_ is not None and type_.kind == "object" and key not in type_.fields:
                yield unknown(inner)
                continue
            if key in seen:
                yield duplicate(inner)
            seen.add(key)
            yield from _walk(_child(type_, key), item, inner)
    elif isinstance(value, list):
        element = type_.element if type_ is not None and type_.kind == "list" else None
        for index, item in enumerate(value):
            yield from _walk(element, item, f"{path}[{index}]")


def _child(type_: Type | None, key: str) -> Type | None:
    if type_ is None:
        return None
    if type_.kind == "object":
        field = type_.fields.get(key)
        return field.type if field is not None else None
    return type_.element if type_.kind == "map" else None


def _is_merged(type_: Type | None) -> bool:
    return type_ is not None and type_.kind in ("object", "map")
