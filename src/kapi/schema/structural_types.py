"""The types of a custom resource, for apply and managed fields: a graph made of its structural schema, node by node."""

from __future__ import annotations

from kapi.schema.loader import META, named_type
from kapi.schema.structural import Structural
from kapi.schema.types import Field, Kind, Topology, Type

_SCALARS: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean"}


def object_type(root: Structural) -> Type:
    """The type of whole objects. It bears no name: nothing in a custom resource exists before it is set."""
    return _object(root, is_resource=True)


def type_of(node: Structural) -> Type:
    if node.int_or_string:
        return Type("string", format="int-or-string", int_or_string=True)
    if node.type == "object":
        return _object(node, is_resource=node.embedded)
    if node.type == "array":
        return _list(node)
    if node.type == "string":
        return Type("string", format=node.schema.get("format") or "")
    if node.type in _SCALARS:
        return Type(_SCALARS[node.type])
    return Type("any", preserve_unknown=True)


def _object(node: Structural, *, is_resource: bool) -> Type:
    topology: Topology = "atomic" if node.map_is_atomic else "granular"
    if node.has_additional and not node.properties:
        additional = node.additional
        element = (lambda: type_of(additional)) if additional is not None else None
        return Type("map", element=element, topology=topology)
    required = frozenset(node.schema.get("required") or ())
    fields = {name: _field(name, child, required=name in required) for name, child in node.properties.items()}
    if is_resource:
        fields |= {name: Field(name, lambda: Type("string")) for name in ("apiVersion", "kind")}
        fields["metadata"] = Field("metadata", lambda: named_type(f"{META}.ObjectMeta"))
    return Type("object", fields=fields, topology=topology, preserve_unknown=node.preserves)


def _field(name: str, node: Structural, *, required: bool) -> Field:
    return Field(name, lambda: type_of(node), required=required, default=node.default, has_default=node.has_default)


def _list(node: Structural) -> Type:
    topology: Topology = node.list_type if node.list_type in ("set", "map") else "atomic"  # type: ignore[assignment]
    items = node.items
    element = (lambda: type_of(items)) if items is not None else None
    return Type("list", element=element, topology=topology, map_keys=node.list_keys)
