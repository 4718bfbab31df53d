"""Comprehensions over two variables: index and value, or key and value."""

from __future__ import annotations

from typing import Any

from kapi.cel import macros
from kapi.cel.functions import Library, overload
from kapi.cel.operators import find_key
from kapi.cel.types import map_of, param
from kapi.cel.values import EvaluationError, format_key


def insert(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """The mapping itself, which only the fold that builds it can see."""
    if find_key(mapping, key) is not None:
        raise EvaluationError(f"insert failed: key {format_key(key)} already exists")
    mapping[key] = value
    return mapping


def insert_all(mapping: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in other.items():
        insert(mapping, key, value)
    return mapping


def library() -> Library:
    key, value = param("K"), param("V")
    mapping = map_of(key, value)
    return Library(
        functions={
            "cel.@mapInsert": (
                overload("@mapInsert_map_key_value", (mapping, key, value), mapping, insert),
                overload("@mapInsert_map_map", (mapping, mapping), mapping, insert_all),
            )
        },
        macros=macros.TWO_VARIABLES,
    )
