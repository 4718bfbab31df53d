"""From a checked tree to closures, once per expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kapi.cel import access, folds, plan
from kapi.cel.ast import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from kapi.cel.functions import Overload
from kapi.cel.library.regex import compiled
from kapi.cel.operators import GENERIC, contains
from kapi.cel.plan import FIRST_SLOT, SPENT, Frame, Plan
from kapi.cel.prices import LIST, MAP, STRUCT
from kapi.cel.source import InstantiationError
from kapi.cel.types import SCALARS, CelType, is_dyn
from kapi.cel.values import EvaluationError, NoSuchOverload, ObjectValue, Optional, runtime_type

# As upstream: converting a constant is done once, and is free; so is reading a constant pattern.
_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_SEARCHES = frozenset({"find", "findAll", "matches"})
_TEXT = frozenset({"string", "bytes"})
# These see for themselves what they are given, and do not say what it was.
_UNNAMED = frozenset({"contains", "endsWith", "matches", "sort", "startsWith"})
_EXACT = frozenset({"string", "bytes", "int", "uint", "bool"})


class Planner:
    def __init__(self, functions: Mapping[str, tuple[Overload, ...]]) -> None:
        self.functions = functions
        self.variables: dict[str, int] = {}
        self.scopes: list[dict[str, int]] = []
        self.slots = FIRST_SLOT

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def plan(self, node: Node) -> Plan:
        match node:
            case Literal():
                return plan.constant(node.value)
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListExpr():
                return self.list_literal(node)
            case MapExpr():
                return self.map_literal(node)
            case StructExpr():
                return self.struct_literal(node)
            case Comprehension():
                return self.comprehension(node)
        raise AssertionError(f"no plan for {type(node).__name__}")

    def ident(self, node: Ident) -> Plan:
        if node.constant is not None:
            return plan.constant(node.constant)
        for scope in reversed(self.scopes):
            if node.name in scope:
                return _variable(scope[node.name])
        found = self.variables.get(node.name)
        if found is None:
            found = self.variables[node.name] = self.slot()
        return _variable(found)

    def select(self, node: Select) -> Plan:
        if node.qualified is not None:
            return self.ident(node.qualified)
        operand = self.plan(node.operand)
        if node.test_only:
            return access.presence(operand, node.operand.type, node.name)
        return access.select(operand, node.operand.type, node.name, node.type)

    # Literals of containers

    def list_literal(self, node: ListExpr) -> Plan:
        parts = [self.plan(element) for element in node.elements]
        if all(part.constant for part in parts) and not node.optional:
            return plan.constant([part.value for part in parts])
        runs = [part.run for part in parts]
        cost = LIST + sum(part.cost for part in parts)
        if not node.optional:
            return Plan(lambda frame: [run(frame) for run in runs], cost)
        optional = node.optional

        def build(frame: Frame) -> list[Any]:
            result = []
            for position, run in enumerate(runs):
                value = run(frame)
                if position not in optional:
                    result.append(value)
                elif type(value) is not Optional:
                    raise EvaluationError(f"cannot initialize optional list element from non-optional value {value}")
                elif value.present:
                    result.append(value.value)
            return result

        return Plan(build, cost)

    def map_literal(self, node: MapExpr) -> Plan:
        return self.entries([(e.key, e.value, e.optional) for e in node.entries], MAP)

    def struct_literal(self, node: StructExpr) -> Plan:
        name = node.name
        made = self.entries([(e.key, e.value, e.optional) for e in node.entries], STRUCT)
        build = made.run
        return Plan(lambda frame: ObjectValue(build(frame), name), made.cost)

    def entries(self, entries: list[tuple[Node, Node, bool]], base: int) -> Plan:
        parts = [(self.plan(key), self.plan(value), optional) for key, value, optional in entries]
        cost = base + sum(key.cost + value.cost for key, value, _ in parts)
        steps = [(key.run, value.run, optional) for key, value, optional in parts]
        if base == MAP and all(key.constant and value.constant and not optional for key, value, optional in parts):
            return plan.constant({key.value: value.value for key, value, _ in parts})

        def build(frame: Frame) -> dict[Any, Any]:
            result = {}
            for key_of, value_of, optional in steps:
                key, value = key_of(frame), value_of(frame)
                if optional:
                    if type(value) is not Optional:
                        message = f"cannot initialize optional entry '{key}' from non-optional value {value}"
                        raise EvaluationError(message)
                    if not value.present:
                        continue
                    value = value.value
                result[key] = value
            return result

        return Plan(build, cost)

    # Calls

    def call(self, node: Call) -> Plan:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        operands = [node.target, *node.args] if node.target is not None else node.args
        args = [self.plan(operand) for operand in operands]
        types = [operand.type for operand in operands]
        shortcut = _shortcut(node.function, args, types)
        if shortcut is not None:
            return shortcut
        if node.function in _SEARCHES and isinstance(args[1].value, str):
            _check_pattern(args[1].value)
        made = self.resolve(node, args, types)
        if node.function in _CONVERSIONS and len(args) == 1 and args[0].constant:
            return plan.folded(made)
        if node.type.kind == "double" and node.function == "_[_]":
            return Plan(access.as_double(made.run), made.cost)
        return made

    def resolve(self, node: Call, args: list[Plan], types: list[CelType]) -> Plan:
        candidates = [o for o in self.functions[node.function] if o.id in node.overloads]
        unknown = any(is_dyn(t) for t in types)
        if node.function in GENERIC and (unknown or len(candidates) > 1):
            price = candidates[0].price if len(candidates) == 1 else None
            return plan.apply(args, GENERIC[node.function], price)
        chosen = candidates[0]
        if len(candidates) == 1 and chosen.run is not None:
            guarded = any(
                is_dyn(t) and not is_dyn(wanted) and wanted.kind != "param"
                for t, wanted in zip(types, chosen.args, strict=True)
            )
            if not guarded:
                return plan.apply(args, chosen.run, chosen.price)
        return plan.apply(args, *_dispatcher(node.function, candidates))

    def conjunction(self, node: Call) -> Plan:
        return plan.conjunction([self.plan(arg) for arg in node.args])

    def disjunction(self, node: Call) -> Plan:
        return plan.disjunction([self.plan(arg) for arg in node.args])

    def conditional(self, node: Call) -> Plan:
        return plan.conditional(*(self.plan(arg) for arg in node.args))

    def optional_select(self, node: Call) -> Plan:
        key = node.args[1]
        assert isinstance(key, Literal)
        return access.optional_select(self.plan(node.args[0]), node.args[0].type, str(key.value))

    def optional_or(self, node: Call) -> Plan:
        """`or` and `orValue` look at the other side only when there is nothing on this one."""
        assert node.target is not None
        target, other = self.plan(node.target), self.plan(node.args[0])
        step, otherwise, cost = target.run, other.run, other.cost
        unwrap = node.function == "orValue"

        def run(frame: Frame) -> Any:
            value = step(frame)
            if type(value) is not Optional:
                raise NoSuchOverload()
            if value.present:
                return value.value if unwrap else value
            frame[SPENT] += cost
            return otherwise(frame)

        return Plan(run, target.cost)

    # Loops

    def comprehension(self, node: Comprehension) -> Plan:
        if node.macro == "bind":
            value = self.plan(node.init)
            slot = self.slot()
            self.scopes.append({node.accumulator: slot})
            made = folds.bind(slot, value, self.plan(node.result))
            self.scopes.pop()
            return made
        items = self.plan(node.range)
        accumulator, first = self.slot(), self.slot()
        second = self.slot() if node.variable2 else 0
        scope = {node.accumulator: accumulator, node.variable: first}
        if second:
            scope[node.variable2] = second
        self.scopes.append(scope)
        made = self.loop(node, items, (first, second), accumulator)
        self.scopes.pop()
        return made

    def loop(self, node: Comprehension, items: Plan, slots: folds.Slots, accumulator: int) -> Plan:
        step = node.step
        assert isinstance(step, Call)
        if node.macro in ("all", "exists"):
            return folds.quantifier(items, slots, self.plan(step.args[1]), decisive=node.macro == "exists")
        if node.macro == "one":
            return folds.exactly_one(items, slots, self.plan(step.args[0]))
        predicate = None
        if step.function == "_?_:_":
            predicate = self.plan(step.args[0])
            inner = step.args[1]
            assert isinstance(inner, Call)
            step = inner
        if node.macro == "insert":
            return folds.insert(items, slots, predicate, accumulator, self.plan(step))
        made = step.args[1]
        assert isinstance(made, ListExpr)
        return folds.collect(items, slots, predicate, self.plan(made.elements[0]))


_SPECIAL: dict[str, Callable[[Planner, Call], Plan]] = {
    "_&&_": Planner.conjunction,
    "_||_": Planner.disjunction,
    "_?_:_": Planner.conditional,
    "_?._": Planner.optional_select,
    "or": Planner.optional_or,
    "orValue": Planner.optional_or,
}


def _variable(slot: int) -> Plan:
    return Plan(lambda frame: frame[slot], 1, slot=slot)


def _shortcut(function: str, args: list[Plan], types: list[CelType]) -> Plan | None:
    """Faster ways for calls whose types are known to be simple."""
    if function in ("_==_", "_!=_"):
        left, right = types[0].kind, types[1].kind
        if left == right and left in _TEXT:
            return plan.same_strings(args[0], args[1], negated=function == "_!=_")
        if left in SCALARS and right in SCALARS:
            if left == right and left in _EXACT:
                native = _eq if function == "_==_" else _ne
                return plan.apply(args, native, None)
            return plan.apply(args, GENERIC[function], None)
    if function == "@in" and types[1].kind == "list" and types[0].kind in _EXACT:
        element = types[1].params[0].kind
        if element == types[0].kind and args[1].constant:
            step, values = args[0].run, frozenset(args[1].value)
            return Plan(lambda frame: step(frame) in values, args[0].cost)
        if args[1].constant:
            step, items = args[0].run, args[1].value
            return Plan(lambda frame: contains(step(frame), items), args[0].cost)
    return None


def _check_pattern(pattern: str) -> None:
    try:
        compiled(pattern)
    except EvaluationError as error:
        raise InstantiationError(error) from None


def _eq(a: Any, b: Any) -> bool:
    return bool(a == b)


def _ne(a: Any, b: Any) -> bool:
    return bool(a != b)


def _dispatcher(function: str, candidates: list[Overload]) -> tuple[Callable[..., Any], Callable[..., int] | None]:
    """Choose the overload by the values, as their types were not known; the price follows the choice."""

    def choose(values: tuple[Any, ...]) -> Overload:
        for candidate in candidates:
            if candidate.run is not None and all(map(_accepts, candidate.args, values)):
                return candidate
        if function in _UNNAMED:
            raise NoSuchOverload()
        names = ", ".join(runtime_type(value).name for value in values)
        raise NoSuchOverload(f"{function}({names})")

    def run(*values: Any) -> Any:
        chosen = choose(values)
        assert chosen.run is not None
        return chosen.run(*values)

    def price(*values: Any) -> int:
        chosen = choose(values[:-1])
        return chosen.price(*values) if chosen.price is not None else 1

    priced = any(candidate.price is not None for candidate in candidates)
    return run, price if priced else None


def _accepts(wanted: CelType, value: Any) -> bool:
    if wanted.kind in ("dyn", "any", "param"):
        return True
    found = runtime_type(value)
    if found.kind != wanted.kind:
        return False
    # As upstream: a container is taken for what it holds first.
    if wanted.kind == "list":
        return not value or _accepts(wanted.params[0], value[0])
    if wanted.kind == "map":
        return not value or all(map(_accepts, wanted.params, next(iter(value.items()))))
    return found.name == wanted.name or wanted.kind == "type"
