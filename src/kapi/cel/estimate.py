"""The static cost of an expression, from the bounds that declarations give: least and most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapi.cel.ast import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from kapi.cel.bounds import MAX, ONE, UNKNOWN, ZERO, CostEstimate, Range, fixed
from kapi.cel.call_costs import Operand, call_cost
from kapi.cel.declarations import Declaration
from kapi.cel.prices import LIST, MAP, STRUCT
from kapi.cel.types import SCALARS, CelType, is_optional

Path = tuple[str, ...]


class EntrySize(NamedTuple):
    """The sizes of what a container holds."""

    kind: str
    key: Range
    value: Range

    def union(self, other: EntrySize | None) -> EntrySize | None:
        if other is None:
            return None
        return EntrySize(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    path: Path
    size: Range | None
    entry: EntrySize | None = None


def estimate(tree: Node, declarations: Mapping[str, Declaration]) -> CostEstimate:
    return _Coster(declarations).cost(tree)


class _Coster:
    def __init__(self, declarations: Mapping[str, Declaration]) -> None:
        self.declarations = declarations
        self.root = next(iter(declarations.values()), None)
        self.locals: dict[str, list[_Local]] = {}
        self.paths: dict[Node, Path] = {}
        self.sizes: dict[Node, Range] = {}
        self.entries: dict[Node, EntrySize] = {}

    def cost(self, node: Node) -> Range:
        match node:
            case Ident():
                local = self.local(node)
                self.paths[node] = local.path if local else (node.name,)
                return ONE
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListExpr():
                return self.list_literal(node)
            case MapExpr():
                return self.map_literal(node)
            case StructExpr():
                total = ZERO
                for entry in node.entries:
                    total = total.plus(self.cost(entry.value))
                return total.plus(fixed(STRUCT))
            case Comprehension():
                return self.binding(node) if node.is_binding else self.fold(node)
        return ZERO

    # Names and paths

    def local(self, node: Node) -> _Local | None:
        if isinstance(node, Ident):
            stack = self.locals.get(node.name)
            if stack:
                return stack[-1]
        return None

    def path(self, node: Node) -> Path:
        local = self.local(node)
        return local.path if local else self.paths.get(node, ())

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def pop(self, name: str) -> None:
        self.locals[name].pop()

    def select(self, node: Select) -> Range:
        if node.qualified is not None:
            self.paths[node] = (node.qualified.name,)
            return ONE
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if node.operand.type.kind in ("map", "struct", "param"):
            total = total.plus(ONE)
        self.paths[node] = (*self.path(node.operand), node.name)
        return total

    # Sizes

    def declared_size(self, path: Path) -> Range | None:
        """The bound that a declaration gives at a path."""
        if not path or self.root is None:
            return None
        # As upstream: a name that is no variable, such as a type's, is taken for the root.
        current = self.declarations.get(path[0], self.root)
        for name in path[1:]:
            if name in ("@items", "@values"):
                following = current.element
            elif name == "@keys":
                following = current.key
            else:
                field = current.fields.get(name)
                following = field.declaration if field is not None else None
            if following is None:
                return None
            current = following
        return Range(0, current.max_elements)

    def size(self, node: Node) -> Range | None:
        known = self.sizes.get(node)
        if known is None:
            known = _literal_size(node)
        if known is not None:
            return known
        declared = self.declared_size(self.path(node))
        if declared is not None:
            self.sizes[node] = declared
            return declared
        if _is_scalar(node.type):
            return ONE
        local = self.local(node)
        return local.size if local else None

    def size_or_unknown(self, node: Node) -> Range:
        return self.size(node) or UNKNOWN

    def entry_size(self, node: Node) -> EntrySize | None:
        found = self.entries.get(node)
        if found is None:
            local = self.local(node)
            found = local.entry if local else None
        return found

    def copy_sizes(self, target: Node, origin: Node) -> None:
        size, entry = self.size(origin), self.entry_size(origin)
        if size is not None:
            self.sizes[target] = size
        if entry is not None:
            self.entries[target] = entry

    # Containers

    def list_literal(self, node: ListExpr) -> Range:
        total = ZERO
        item = Range(MAX if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            item = item.union(self.size_or_unknown(element))
        self.entries[node] = EntrySize("list", ONE, item)
        return total.plus(fixed(LIST))

    def map_literal(self, node: MapExpr) -> Range:
        total = ZERO
        key = value = Range(MAX if node.entries else 0, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self.size_or_unknown(entry.key))
            value = value.union(self.size_or_unknown(entry.value))
        self.entries[node] = EntrySize("map", key, value)
        return total.plus(fixed(MAP))

    # Calls

    def operand(self, node: Node) -> Operand:
        path = self.path(node)
        return Operand(node, node.type, self.size(node), self.element_size(node.type, path))

    def element_size(self, t: CelType, path: Path) -> Range | None:
        """The size of the items below; None where the type has no items at all."""
        if not t.params:
            return None
        declared = self.declared_size((*path, "@items")) if path else None
        return declared or UNKNOWN

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            total = self.cost(node.args[0]).plus(ONE)
            self.copy_sizes(node, node.args[0])
            return total
        costs = [self.cost(arg) for arg in node.args]
        args = [self.operand(arg) for arg in node.args]
        if not node.overloads:
            return ZERO
        total, target = ZERO, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self.operand(node.target)
        if node.function in ("_&&_", "_||_"):
            return Range(costs[0].low, min(sum(cost.high for cost in costs), MAX))
        if node.function == "_?_:_":
            return self.conditional(node, costs)
        return total.plus(self.overloads(node, target, args, costs))

    def overloads(self, node: Call, target: Operand | None, args: list[Operand], costs: list[Range]) -> Range:
        spent = ZERO
        for cost in costs:
            spent = spent.plus(cost)
        total = Range(MAX, 0)
        result: Range | None = None
        for overload in node.overloads:
            made = call_cost(node.function, overload, target, args)
            total = total.union(made.cost.plus(spent))
            if made.result is not None:
                result = made.result if result is None else result.union(made.result)
            result = self.indexed(node, overload, result)
            if result is None:
                result = self.size(node)
        self.concatenated(node)
        if result is not None:
            self.sizes[node] = result
        return total

    def indexed(self, node: Call, overload: str, result: Range | None) -> Range | None:
        if overload not in ("index_list", "index_map"):
            return result
        entry = self.entry_size(node.args[0])
        self.paths[node] = (*self.path(node.args[0]), "@items" if overload == "index_list" else "@values")
        return entry.value if entry is not None else None

    def concatenated(self, node: Call) -> None:
        if node.function == "_+_":
            left, right = self.entry_size(node.args[0]), self.entry_size(node.args[1])
            joined = left.union(right) if left is not None else None
            if joined is not None:
                self.entries[node] = joined

    def conditional(self, node: Call, costs: list[Range]) -> Range:
        left, right = self.entry_size(node.args[1]), self.entry_size(node.args[2])
        joined = left.union(right) if left is not None else None
        if joined is not None:
            self.entries[node] = joined
        self.sizes[node] = self.size_or_unknown(node.args[1]).union(self.size_or_unknown(node.args[2]))
        return costs[0].plus(costs[1].union(costs[2]))

    # Comprehensions

    def binding(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self.push(node.accumulator, _Local(self.path(node.init), self.size(node.init), self.entry_size(node.init)))
        total = total.plus(self.cost(node.result))
        self.copy_sizes(node, node.result)
        self.pop(node.accumulator)
        return total

    def fold(self, node: Comprehension) -> Range:
        total = self.cost(node.range).plus(self.cost(node.init))
        self.push(node.accumulator, _Local(self.path(node.init), self.size(node.init), self.entry_size(node.init)))
        self.push_variables(node)
        per_round = self.cost(node.condition).plus(self.cost(node.step))
        self.pop(node.variable)
        if node.variable2:
            self.pop(node.variable2)
        total = total.plus(self.cost(node.result))
        self.pop(node.accumulator)
        count = self.size_or_unknown(node.range)
        total = total.plus(count.times(per_round))
        if isinstance(node.init, Literal):
            size = self.size(node.init)
            if size is not None:
                self.sizes[node] = size
        elif isinstance(node.init, (ListExpr, MapExpr)):
            self.sizes[node] = count
            entry = self.entry_size(node.step)
            if entry is not None:
                self.entries[node] = entry
        return total

    def push_variables(self, node: Comprehension) -> None:
        entry, path = self.entry_size(node.range), self.path(node.range)
        kind = entry.kind if entry is not None else node.range.type.kind
        is_list = kind == "list"
        key = entry.key if entry is not None else None
        value = entry.value if entry is not None else None
        if node.variable2:
            self.push(node.variable, _Local((*path, "@indices" if is_list else "@keys"), key))
            self.push(node.variable2, _Local((*path, "@items" if is_list else "@values"), value))
        else:
            self.push(node.variable, _Local((*path, "@items" if is_list else "@keys"), value if is_list else key))


def _literal_size(node: Node) -> Range | None:
    match node:
        case Literal(value=str() | bytes() as value):
            return fixed(len(value))
        case Literal():
            return ONE
        case ListExpr():
            return fixed(len(node.elements))
        case MapExpr():
            return fixed(len(node.entries))
    return None


def _is_scalar(t: CelType) -> bool:
    return t.kind in SCALARS or (is_optional(t) and _is_scalar(t.params[0]))
