"""Rules all over a schema: checking a definition's rules, and judging objects by them.

The walk follows the schema; old values are found by name in objects and by key in lists of type map.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kapi.api.fields import FieldError, forbidden, invalid
from kapi.cel.declarations import Declaration
from kapi.cel.environment import Budget
from kapi.cel.escaping import escape
from kapi.cel.limits import (
    EXPRESSION_COST_LIMIT,
    RUNTIME_BUDGET,
    SCHEMA_COST_LIMIT,
    UINT64_MAX,
    exceeded,
    multiplied,
)
from kapi.cel.rules import Rule, Rules, compile_rules, validate
from kapi.cel.schemas import declaration

Schema = Mapping[str, Any]
_RULES = "x-kubernetes-validations"
# As Go prints a path with nothing in it.
_ROOT = "<nil>"
_UNTYPED = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)
_RULE_FIELDS = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
_HTML = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"})


# Judging objects


@dataclass(slots=True)
class Node:
    """One node of the schema that has rules at or below it."""

    kind: str
    rules: Rules | None
    properties: dict[str, Node] = field(default_factory=dict)
    values: Node | None = None
    items: Node | None = None
    all_of: list[Node] = field(default_factory=list)
    list_keys: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.rules or self.properties or self.values or self.items or self.all_of)


class Judgement:
    """What the rules of a schema say about one object after another."""

    def __init__(self, root: Node) -> None:
        self._root = root

    def __call__(self, new: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        return self.judge(new, old)[0]

    def judge(self, new: dict[str, Any], old: dict[str, Any] | None) -> tuple[list[FieldError], list[FieldError]]:
        """Errors, and what is only warned of: a value that was wrong before and has not changed."""
        walk = _Walk(Budget(RUNTIME_BUDGET))
        walk.visit(self._root, new, old, "", _Correlation(old) if old is not None else None, None)
        return walk.errors, walk.warnings


def evaluator(schema: Schema) -> Judgement:
    """Rules compile now; a schema without rules judges everything right."""
    made = _node(schema, schema, declaration(schema, resource_root=True))
    return Judgement(made or Node("object", None))


def _node(rules_of: Schema, shape: Schema, declared: Declaration | None) -> Node | None:
    """`rules_of` is the shape itself, or a part of its allOf, which holds rules but no types."""
    rules = rules_of.get(_RULES)
    compiled = compile_rules(declared, rules) if rules and declared is not None else None
    node = Node(shape.get("type", ""), compiled)
    element = declared.element if declared is not None else None
    items, shape_items = rules_of.get("items"), shape.get("items")
    if isinstance(items, Mapping) and isinstance(shape_items, Mapping):
        node.items = _node(items, shape_items, element)
        if shape.get("x-kubernetes-list-type") == "map":
            node.list_keys = tuple(shape.get("x-kubernetes-list-map-keys", ()))
    values, shape_values = rules_of.get("additionalProperties"), shape.get("additionalProperties")
    if isinstance(values, Mapping) and isinstance(shape_values, Mapping):
        node.values = _node(values, shape_values, element)
    for name, prop in rules_of.get("properties", {}).items():
        below = shape.get("properties", {}).get(name)
        made = _node(prop, below, _property(declared, name, below)) if below is not None else None
        if made is not None:
            node.properties[name] = made
    for part in rules_of.get("allOf", ()):
        made = _node(part, shape, declared)
        if made is not None:
            node.all_of.append(made)
    return None if node.is_empty else node


def _property(declared: Declaration | None, name: str, schema: Schema) -> Declaration | None:
    escaped = escape(name)
    if escaped is None:
        return declaration(schema, resource_root=bool(schema.get("x-kubernetes-embedded-resource")))
    found = declared.fields.get(escaped) if declared is not None else None
    return found.declaration if found is not None else None


class _Correlation:
    """The value that stood at the same place before."""

    __slots__ = ("_same", "old")

    def __init__(self, old: Any) -> None:
        self.old = old
        self._same: bool | None = None

    def unchanged(self, new: Any) -> bool:
        if self._same is None:
            self._same = new == self.old
        return self._same


_Unchanged = Callable[[], bool]


class _Walk:
    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []

    def visit(
        self, node: Node, new: Any, old: Any, path: str, at: _Correlation | None, above: _Unchanged | None
    ) -> None:
        if new is None or self.budget.remaining < 0:
            return

        def unchanged() -> bool:
            if at is not None:
                return at.unchanged(new)
            return above is not None and above()

        if node.rules is not None:
            for failure in validate(node.rules, new, old, path, self.budget, kind=node.kind):
                ratcheted = not failure.uses_old_self and unchanged()
                error = failure.error if failure.path else replace(failure.error, path=_ROOT)
                (self.warnings if ratcheted else self.errors).append(error)
        for part in node.all_of:
            self.visit(part, new, old, path, None, above)
        if isinstance(new, list) and node.items is not None:
            self.visit_items(node, node.items, new, old, path, at, unchanged)
        elif isinstance(new, dict):
            self.visit_fields(node, new, old if isinstance(old, dict) else {}, path, at, unchanged)

    def visit_fields(
        self, node: Node, new: dict[str, Any], old: dict[str, Any], path: str, at: _Correlation | None, same: _Unchanged
    ) -> None:
        for name, below, where in _fields(node, new, path):
            known = at is not None and isinstance(at.old, dict) and name in at.old
            correlated = _Correlation(at.old[name]) if at is not None and known else None
            self.visit(below, new[name], old.get(name), where, correlated, same)

    def visit_items(
        self, node: Node, items: Node, new: list[Any], old: Any, path: str, at: _Correlation | None, same: _Unchanged
    ) -> None:
        before = _by_key(old, node.list_keys)
        for index, item in enumerate(new):
            found = before.get(_key(item, node.list_keys)) if before else None
            correlated = _Correlation(found) if at is not None and found is not None else None
            self.visit(items, item, found, f"{path}[{index}]", correlated, same)


def _fields(node: Node, new: dict[str, Any], path: str) -> Iterator[tuple[str, Node, str]]:
    if node.values is not None:
        for name in new:
            yield name, node.values, f"{path}[{name}]"
    for name, below in node.properties.items():
        if name in new:
            yield name, below, f"{path}.{name}" if path else name


def _key(item: Any, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    if not keys or not isinstance(item, dict):
        return None
    return tuple(json.dumps(item.get(key), sort_keys=True) for key in keys)


def _by_key(items: Any, keys: tuple[str, ...]) -> dict[tuple[str, ...] | None, Any]:
    if not isinstance(items, list) or not keys:
        return {}
    found: dict[tuple[str, ...] | None, Any] = {}
    for item in items:
        found.setdefault(_key(item, keys), item)
    return found


# Checking definitions


def validate_rules(schema: Schema, path: str, *, costs: bool) -> list[FieldError]:
    """What is wrong with the rules of a definition: they do not compile, or could cost too much.

    Without `costs` (a schema that has not changed) only the total is limited.
    """
    check = _Definition(costs)
    check.visit(schema, path, declaration(schema, resource_root=True), 1, "")
    return check.errors + check.total_errors(path)


class _Definition:
    def __init__(self, costs: bool) -> None:
        self.costs = costs
        self.errors: list[FieldError] = []
        self.total = 0
        self.expensive: list[tuple[int, str]] = []

    def visit(
        self, schema: Schema, path: str, declared: Declaration | None, cardinality: int | None, uncorrelatable: str
    ) -> None:
        """`cardinality` is how often the node can occur by the bounds above it; None when they set none."""
        below = _below(schema, cardinality)
        element = declared.element if declared is not None else None
        values, items = schema.get("additionalProperties"), schema.get("items")
        if isinstance(values, Mapping):
            self.visit(values, f"{path}.additionalProperties", element, below, uncorrelatable)
        for name, prop in schema.get("properties", {}).items():
            self.visit(prop, f"{path}.properties[{name}]", _property(declared, name, prop), below, uncorrelatable)
        if isinstance(items, Mapping):
            is_map = schema.get("x-kubernetes-list-type") == "map"
            self.visit(items, f"{path}.items", element, below, uncorrelatable if is_map else uncorrelatable or path)
        rules = schema.get(_RULES)
        if rules and declared is None:
            self.errors.append(FieldError("InternalError", f"{path}.{_RULES}", _UNTYPED))
        elif rules and declared is not None:
            self.rules(compile_rules(declared, rules), f"{path}.{_RULES}", cardinality, uncorrelatable)

    def rules(self, compiled: Rules, path: str, cardinality: int | None, uncorrelatable: str) -> None:
        times = compiled.max_cardinality if cardinality is None else cardinality
        for index, rule in enumerate(compiled.rules):
            where = f"{path}[{index}]"
            self.charge(f"{where}.rule", "estimated rule cost", multiplied(rule.max_cost, times))
            if rule.problem:
                self.errors.append(_refused(f"{where}.rule", rule, rule.problem))
            if rule.message_problem:
                self.errors.append(_refused(f"{where}.messageExpression", rule, rule.message_problem))
            elif rule.message_program is not None:
                name = "estimated messageExpression cost"
                self.charge(f"{where}.messageExpression", name, rule.message_max_cost)
            self.old_self(rule, where, uncorrelatable)

    def old_self(self, rule: Rule, where: str, uncorrelatable: str) -> None:
        if rule.uses_old_self:
            if uncorrelatable:
                detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                self.errors.append(invalid(f"{where}.rule", rule.source["rule"], detail))
        elif rule.source.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            self.errors.append(invalid(f"{where}.optionalOldSelf", rule.source["optionalOldSelf"], detail))

    def charge(self, path: str, name: str, cost: int) -> None:
        if self.costs and cost > EXPRESSION_COST_LIMIT:
            self.errors.append(forbidden(path, exceeded(name, cost, EXPRESSION_COST_LIMIT)))
        self.total = min(self.total + cost, UINT64_MAX)
        if cost >= SCHEMA_COST_LIMIT // 100:
            self.expensive = sorted([*self.expensive, (cost, path)], key=lambda entry: -entry[0])[:4]

    def total_errors(self, path: str) -> list[FieldError]:
        if self.total <= SCHEMA_COST_LIMIT:
            return []
        contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors = [forbidden(where, contributed) for _, where in self.expensive]
        return [*errors, forbidden(path, exceeded(name, self.total, SCHEMA_COST_LIMIT))]


def _below(schema: Schema, cardinality: int | None) -> int | None:
    """How often what is below a node can occur."""
    if cardinality is None:
        return None
    limit: int | None = 1
    if schema.get("type") == "array":
        limit = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") not in (None, False):
        limit = schema.get("maxProperties")
    return None if limit is None else multiplied(cardinality, max(limit, 0))


def _refused(path: str, rule: Rule, detail: str) -> FieldError:
    """With the rule by Go's field names, as its JSON encoder writes them."""
    empty: dict[str, Any] = {"reason": None, "optionalOldSelf": None}
    shown = {key[:1].upper() + key[1:]: rule.source.get(key, empty.get(key, "")) for key in _RULE_FIELDS}
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).translate(_HTML)
    return FieldError("FieldValueInvalid", path, f"{text}: {detail}")
