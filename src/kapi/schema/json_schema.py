"""The odd types of a CRD's schema: a schema or a boolean, a schema or schemas, a schema or strings, and any value.

They read JSON on their own, so unknown fields inside them are dropped without a word.
"""

from __future__ import annotations

from typing import Any

from kapi.schema.compile import Compiled, Decode, compiled
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import named_type
from kapi.schema.structural_settle import normalize

_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def part_of_schema(format: str) -> Compiled:
    if format == "json":
        return Compiled(None, lambda value, _: normalize(value), lambda: None)
    if format == "schema-or-bool":
        return Compiled(None, _or_bool, lambda: False)
    return Compiled(None, _or_array if format == "schema-or-array" else _or_strings, lambda: None)


def _schema(value: Any) -> Any:
    if value.__class__ is not dict:
        raise TypeMismatch(value, "v1.JSONSchemaProps")
    walk: Decode | None = compiled(named_type(_PROPS)).decode
    return walk(value, []) if walk is not None else value


def _or_bool(value: Any, problems: list[str]) -> Any:
    if value.__class__ is dict:
        return _schema(value)
    if value.__class__ is bool:
        return value
    raise TypeMismatch.plainly("boolean or JSON schema expected")


def _or_array(value: Any, problems: list[str]) -> Any:
    if value.__class__ is dict:
        return _schema(value)
    if value.__class__ is list:
        return [_schema(item) for item in value] or None
    return None


def _or_strings(value: Any, problems: list[str]) -> Any:
    if value.__class__ is dict:
        return _schema(value)
    if value.__class__ is list:
        for item in value:
            if item.__class__ is not str:
                raise TypeMismatch(item, "string")
        return value or None
    return None
