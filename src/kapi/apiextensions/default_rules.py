"""Defaults in schemas: a default must be what its schema allows, and hold nothing that pruning would take away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object
from kapi.apiextensions.embedded import validate_embedded
from kapi.apiextensions.rules import evaluator, has_rules
from kapi.schema.empties import as_nothing
from kapi.schema.structural import META_FIELDS, Structural
from kapi.schema.structural_check import validate
from kapi.schema.structural_settle import fresh, prune, settle_embedded

_INT_OR_STRING = "x-kubernetes-int-or-string"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is: in which resource, below which members of it (`[]`: an item), and if in that one's metadata."""

    resource: Structural
    below: tuple[str, ...] = ()
    in_metadata: bool = False

    def inside(self, key: str) -> _Place:
        is_metadata = not self.below and key in META_FIELDS
        return _Place(self.resource, (*self.below, key), self.in_metadata or is_metadata)

    def surround(self, value: Any) -> Object:
        """A resource that has nothing but this value."""
        for key in reversed(self.below):
            value = [value] if key == "[]" else {key: value}
        return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def validate_defaults(schema: dict[str, object], path: str) -> list[FieldError]:
    if b'"default":' not in _text(schema):
        return []
    root = Structural({**schema, "x-kubernetes-embedded-resource": True})
    return list(_node(root, path, _Place(root)))


def _node(node: Structural, path: str, place: _Place) -> Iterator[FieldError]:
    if node.embedded:
        place = _Place(node)
    if node.has_default:
        yield from (_in_metadata if place.in_metadata else _default)(node, f"{path}.default", place)
    yield from _below(node, path, place)


def _below(node: Structural, path: str, place: _Place) -> Iterator[FieldError]:
    # Not inside additionalProperties: defaults there are refused elsewhere.
    if not node.defaults_below:
        return
    if node.items is not None:
        yield from _node(node.items, f"{path}.items", place.inside("[]"))
    for name, child in node.properties.items():
        yield from _node(child, f"{path}.properties[{name}]", place.inside(name))


def _default(node: Structural, path: str, _: _Place) -> Iterator[FieldError]:
    given, value = node.default, fresh(node.default)
    malformed = settle_embedded(node, value, path)
    unknown: list[str] = []
    prune(node, fresh(value), unknown, forgiving=True)
    if unknown:
        yield invalid(path, given, "must not have unknown fields")
    if malformed is not None:
        yield malformed
        return
    embedded = list(validate_embedded(node, value, path))
    yield from embedded or validate(_openapi(node), value, base=path)


def _in_metadata(node: Structural, path: str, place: _Place) -> Iterator[FieldError]:
    """A default in the metadata of a resource is judged by what becomes of that."""
    resource = place.surround(fresh(node.default))
    malformed = settle_embedded(place.resource, resource, is_resource=True)
    wrong = (
        [malformed] if malformed is not None else list(validate_embedded(place.resource, resource, is_resource=True))
    )
    if wrong:
        told = str(wrong[0]) if len(wrong) == 1 else f"[{', '.join(map(str, wrong))}]"
        yield invalid(path, node.default, f"must result in valid metadata: {told}")
    else:
        yield from validate(_openapi(node), node.default, base=path)


def _openapi(node: Structural) -> Structural:
    """As upstream judges defaults: by the schema in OpenAPI's own words, which know no int-or-string."""
    return Structural(_unmarked(node.schema)) if _INT_OR_STRING.encode() in _text(node.schema) else node


def _unmarked(schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in schema.items() if key != _INT_OR_STRING}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _unmarked(made[key])
    if made.get("properties"):
        made["properties"] = {name: _unmarked(held) for name, held in made["properties"].items()}
    return made


def _text(schema: Mapping[str, Any]) -> bytes:
    return orjson.dumps(schema, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)


def judge_defaults(schema: dict[str, Any], path: str) -> list[FieldError]:
    """What the schema's own rules hold against its defaults; the rules themselves are known to be right."""
    if b'"default":' not in _text(schema) or not has_rules(schema):
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
