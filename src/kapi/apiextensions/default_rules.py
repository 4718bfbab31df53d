"""Defaults in schemas: a default must be what its schema allows, and hold nothing that pruning would take away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from kapi.api.fields import FieldError, invalid
from kapi.apiextensions.embedded import validate_embedded
from kapi.apiextensions.rules import evaluator, has_rules
from kapi.schema.empties import as_nothing
from kapi.schema.structural import META_FIELDS, Structural
from kapi.schema.structural_check import validate
from kapi.schema.structural_settle import fresh, prune


def validate_defaults(schema: dict[str, object], path: str) -> list[FieldError]:
    if b'"default":' not in orjson.dumps(schema, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS):
        return []
    root = Structural(schema)
    return list(_below(root, path, is_resource=True)) if root.defaults_below else []


def _node(node: Structural, path: str, *, in_metadata: bool) -> Iterator[FieldError]:
    if node.has_default:
        yield from _default(node, f"{path}.default", in_metadata=in_metadata)
    if node.defaults_below:
        yield from _below(node, path, is_resource=node.embedded, in_metadata=in_metadata and not node.embedded)


def _below(node: Structural, path: str, *, is_resource: bool, in_metadata: bool = False) -> Iterator[FieldError]:
    # Not inside additionalProperties: defaults there are refused elsewhere.
    if node.items is not None:
        yield from _node(node.items, f"{path}.items", in_metadata=in_metadata)
    for name, child in node.properties.items():
        inner = in_metadata or (is_resource and name in META_FIELDS)
        yield from _node(child, f"{path}.properties[{name}]", in_metadata=inner)


def _default(node: Structural, path: str, *, in_metadata: bool) -> Iterator[FieldError]:
    given = node.default
    if not in_metadata:
        unknown: list[str] = []
        prune(node, fresh(given), unknown, forgiving=True)
        if unknown:
            yield invalid(path, given, "must not have unknown fields")
    embedded = list(validate_embedded(node, given, path))
    yield from embedded or validate(node, given, base=path)


def judge_defaults(schema: dict[str, Any], path: str) -> list[FieldError]:
    """What the schema's own rules hold against its defaults; the rules themselves are known to be right."""
    text = orjson.dumps(schema, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)
    if b'"default":' not in text or not has_rules(schema):
        return []
    return list(_judged(Structural(schema), path))


def _judged(node: Structural, path: str) -> Iterator[FieldError]:
    below = [(f"{path}.properties[{name}]", child) for name, child in node.properties.items()]
    if node.items is not None:
        below.append((f"{path}.items", node.items))
    for at, child in below:
        judge = evaluator({"type": "object", "properties": {"f": child.schema}}) if child.has_default else None
        if judge is not None:
            found = judge({"f": fresh(child.default)}, None)
            yield from (replace(error, path=f"{at}.default{error.path[1:]}") for error in found)
        yield from _judged(child, at)
