"""Structural schemas: what the objects of a custom resource may look like, as their definition says it.

A Structural wraps one node of a definition's OpenAPI schema. Nodes below it are made when a value first comes by, so a
schema costs its JSON until it is used. The walks over values live beside this file: settling (pruning, nulls, embedded
metadata, defaults), checking (types, formats, value validations), list types, and the Type graph for apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
# value, its former state (or UNRELATED), the problems found so far: how many checks it passed
Check: TypeAlias = Callable[[Any, Any, list[Any]], int]

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
_NO_NODES: Mapping[str, Any] = {}


class Structural:
    """One node. What its schema says of a value is read once."""

    __slots__ = (
        "_additional",
        "_defaults_below",
        "_items",
        "_properties",
        "check",
        "default",
        "embedded",
        "has_additional",
        "has_default",
        "int_or_string",
        "list_keys",
        "list_type",
        "nullable",
        "preserves",
        "schema",
        "type",
    )

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.type: str = schema.get("type", "")
        self.nullable: bool = schema.get("nullable", False)
        self.default: Any = schema.get("default")
        self.has_default = self.default is not None
        self.preserves: bool = schema.get("x-kubernetes-preserve-unknown-fields", False)
        self.embedded: bool = schema.get("x-kubernetes-embedded-resource", False)
        self.int_or_string: bool = schema.get("x-kubernetes-int-or-string", False)
        self.list_type: str = schema.get("x-kubernetes-list-type", "")
        self.list_keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        self.has_additional = schema.get("additionalProperties") is not None
        self.check: Check | None = None  # compiled by structural_check on first use
        self._properties: Mapping[str, Structural] | None = None
        self._additional: Structural | None = None
        self._items: Structural | None = None
        self._defaults_below: bool | None = None

    @property
    def properties(self) -> Mapping[str, Structural]:
        found = self._properties
        if found is None:
            schemas = self.schema.get("properties") or _NO_NODES
            found = self._properties = {name: Structural(schema) for name, schema in schemas.items()}
        return found

    @property
    def additional(self) -> Structural | None:
        """The schema of members that have no name here; None also when any value will do, or none."""
        if self._additional is None:
            schema = self.schema.get("additionalProperties")
            if isinstance(schema, Mapping):
                self._additional = Structural(schema)
        return self._additional

    @property
    def items(self) -> Structural | None:
        if self._items is None:
            schema = self.schema.get("items")
            if isinstance(schema, Mapping):
                self._items = Structural(schema)
        return self._items

    def member(self, name: str) -> Structural | None:
        """The schema of an object's member."""
        return self.properties.get(name) or self.additional

    @property
    def map_is_atomic(self) -> bool:
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    @property
    def defaults_below(self) -> bool:
        """Whether anything inside a value could be given a default."""
        if self._defaults_below is None:
            below = [*self.properties.values(), self.items, self.additional]
            self._defaults_below = any(n is not None and (n.has_default or n.defaults_below) for n in below)
        return self._defaults_below
