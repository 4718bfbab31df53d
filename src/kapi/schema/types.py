"""Types, as compiled from facts or from a CRD's schema: what validation, defaulting, patches and apply read.

A Type is shared, immutable after compilation and built on first use. `any` (preserve unknown fields) has no fields and
no element: its contents are untyped and deduced from the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["object", "map", "list", "string", "integer", "number", "boolean", "any"]

# How a list or map merges in apply: `atomic` as one value, `set` by value, `map` by its keys, `granular` for objects.
Topology: TypeAlias = Literal["atomic", "set", "map", "granular"]


class GoField(NamedTuple):
    """How Go's typed codec treats a built-in type's field: its name in messages, and its form when it is empty."""

    type: str  # as reflection prints it, e.g. []v1.Container
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    via: tuple[str, ...]  # the structs it is embedded through
    keeps_empty: bool = False  # an empty list is not the same as none


class Field:
    """A named property of an object type. Its type resolves on first use, so that types may be recursive."""

    __slots__ = ("_resolve", "_type", "default", "go", "has_default", "merge_key", "name", "patch_strategy", "required")

    def __init__(
        self,
        name: str,
        resolve: Callable[[], Type],
        *,
        required: bool = False,
        default: Any = None,
        has_default: bool = False,
        patch_strategy: frozenset[str] = frozenset(),
        merge_key: str = "",
        go: GoField | None = None,
    ) -> None:
        self.name = name
        self._resolve = resolve
        self._type: Type | None = None
        self.required = required
        self.default = default
        self.has_default = has_default
        self.patch_strategy = patch_strategy  # strategic merge: of "merge", "replace", "retainKeys"
        self.merge_key = merge_key  # strategic merge: the key of a merged list of objects
        self.go = go  # None for custom resources

    @property
    def type(self) -> Type:
        found = self._type
        if found is None:
            found = self._type = self._resolve()
        return found


class Type:
    """One node of a schema."""

    __slots__ = (
        "_element",
        "_resolve_element",
        "compiled",
        "fields",
        "format",
        "int_or_string",
        "kind",
        "map_keys",
        "name",
        "preserve_unknown",
        "shape",
        "topology",
    )

    def __init__(
        self,
        kind: Kind,
        *,
        name: str = "",
        fields: Mapping[str, Field] | None = None,
        element: Callable[[], Type] | None = None,
        topology: Topology = "granular",
        map_keys: tuple[str, ...] = (),
        format: str = "",
        int_or_string: bool = False,
        preserve_unknown: bool = False,
    ) -> None:
        self.kind: Kind = kind
        self.name = name  # of the definition, e.g. io.k8s.api.core.v1.PodSpec; empty for inline types
        self.fields: Mapping[str, Field] = fields if fields is not None else {}
        self._resolve_element = element
        self._element: Type | None = None
        self.topology: Topology = topology  # lists without x-kubernetes-list-type are atomic
        self.map_keys = map_keys
        self.format = format  # int32, int64, byte, date-time, micro-time, quantity, double, duration
        self.int_or_string = int_or_string
        self.preserve_unknown = preserve_unknown
        self.shape: Any = None  # what apply compiles from this type, on its first use
        self.compiled: Any = None  # what schema.compile made of it

    @property
    def element(self) -> Type | None:
        """Of a list's items or a map's values; None when untyped."""
        if self._element is None and self._resolve_element is not None:
            self._element = self._resolve_element()
        return self._element
