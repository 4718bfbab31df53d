"""The syntax tree: what the parser makes, the checker annotates, and the planner turns into closures."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapi.cel.types import DYN, CelType

ACCUMULATOR = "@result"
UNUSED = "#unused"


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """`type` and `overloads` are filled by the checker."""

    offset: int
    type: CelType = field(default=DYN)


@dataclass(slots=True, eq=False, kw_only=True)
class Literal(Node):
    value: object


@dataclass(slots=True, eq=False, kw_only=True)
class Ident(Node):
    """`constant` is the type that a type identifier stands for."""

    name: str
    constant: CelType | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Select(Node):
    """`qualified` is set where the whole dotted name turned out to be one identifier."""

    operand: Node
    name: str
    test_only: bool = False
    qualified: Ident | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Call(Node):
    function: str
    target: Node | None = None
    args: list[Node]
    overloads: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class ListExpr(Node):
    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False, kw_only=True)
class Entry(Node):
    """A map entry, or a field of a struct (whose key is a string literal)."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class MapExpr(Node):
    entries: list[Entry]


@dataclass(slots=True, eq=False, kw_only=True)
class StructExpr(Node):
    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False, kw_only=True)
class Comprehension(Node):
    """A fold. `macro` names the macro that made it, so that the planner can loop directly."""

    range: Node
    variable: str
    variable2: str = ""
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node
    macro: str = ""

    @property
    def is_binding(self) -> bool:
        """A variable bound to a value: a fold over nothing."""
        return (
            isinstance(self.range, ListExpr)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
            and self.accumulator != "__result__"
        )


def children(node: Node) -> list[Node]:
    """The nodes directly below, in source order."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*([node.target] if node.target else []), *node.args]
        case ListExpr():
            return node.elements
        case MapExpr() | StructExpr():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Comprehension():
            return [node.range, node.init, node.condition, node.step, node.result]
        case _:
            return []
