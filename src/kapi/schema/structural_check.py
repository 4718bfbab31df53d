"""Checking: whether a custom resource is what its schema demands, in the words of upstream's OpenAPI validator.

A node's check is a closure, made when the first value comes by. Each counts the checks that passed: where none of
several alternatives fits, the one that fits best explains why. Problems carry their path as a suffix that grows on the
way up. A value that did not change since its former state is not held against an update (ratcheting).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kapi.api.fields import FieldError
from kapi.schema.structural import Check, Structural
from kapi.schema.structural_problems import (
    Problem,
    composite,
    enum_problem,
    forbidden_property,
    required_problem,
    too_few_items,
    too_few_properties,
    too_many_problem,
)
from kapi.schema.structural_scalars import Judge, number_check, string_check, type_check

UNRELATED = object()  # the former state of a value that has none

_Members: TypeAlias = Callable[[dict[str, Any], Any, list[Problem]], int]


def validate(node: Structural, value: Any, old: Any = UNRELATED, base: str = "") -> list[FieldError]:
    """What is wrong with a value, and was not wrong with it before. `base` is the path of the value itself."""
    problems: list[Problem] = []
    check_of(node)(value, UNRELATED, problems)
    if problems and old is not UNRELATED:
        problems.clear()
        check_of(node)(value, old, problems)
    if node.has_additional:  # as upstream, which names what has no name of its own by what it stands in
        return [make(suffix, base) for suffix, make in problems]
    return [make(suffix.removeprefix("."), base) for suffix, make in problems]


def check_of(node: Structural) -> Check:
    found = node.check
    if found is None:
        found = node.check = _compile(node)
    return found


def _compile(node: Structural) -> Check:
    schema = node.schema
    judge = type_check(node)
    junctions = _junctions(schema)
    text, number, enum = string_check(schema), number_check(schema), _enum(schema.get("enum") or ())
    in_list = _list_check(node)
    in_dict = _object_check(node)

    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        mark = len(problems)
        if value is None:
            passed = judge(value, problems) if judge is not None else 1
        else:
            passed = 1 + (judge(value, problems) + 1 if judge is not None else 0)
            passed += (junctions(value, old, problems) if junctions is not None else 1) + 1
            kind = value.__class__
            if kind is str:
                passed += text(value, problems) if text is not None else 1
            elif kind is int or kind is float:
                passed += number(value, problems) if number is not None else 2
            elif kind is list:
                passed += in_list(value, old, problems)
            elif kind is dict:
                passed += in_dict(value, old, problems) + 1
            passed += 1
        if enum is not None:
            enum(value, problems)
        if old is not UNRELATED and len(problems) != mark and _same(old, value):
            del problems[mark:]
        return passed

    return check


def _same(one: Any, other: Any) -> bool:
    return one.__class__ is other.__class__ and bool(one == other)


def _enum(allowed: list[Any] | tuple[Any, ...]) -> Judge | None:
    if not allowed:
        return None
    plain = [(e.__class__ is bool, e) for e in allowed if e is not None]
    integers = [e for e in allowed if e.__class__ is int]

    def check(value: Any, problems: list[Problem]) -> int:
        if value.__class__ is float and int(value) in integers:  # as upstream, which cuts the fraction off
            return 1
        if value is None or (value.__class__ is bool, value) not in plain:
            problems.append(("", enum_problem(value, allowed)))
            return 0
        return 1

    return check


def _list_check(node: Structural) -> _Members:
    low, high = node.schema.get("minItems"), node.schema.get("maxItems")

    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        passed, items = 2, node.items
        if items is not None:
            run, mark = check_of(items), len(problems)
            former = _former_items(node, old) if old is not UNRELATED else None
            for index, item in enumerate(value):
                passed += run(item, former(item) if former is not None else UNRELATED, problems)
                if len(problems) != mark:
                    problems[mark:] = [(f"[{index}]{suffix}", make) for suffix, make in problems[mark:]]
                    mark = len(problems)
        size = len(value)
        if low is not None and size < low:
            problems.append(("", too_few_items(size, low)))
        if high is not None and size > high:
            problems.append(("", too_many_problem(size, high)))
        return passed

    return check


def _former_items(node: Structural, old: Any) -> Callable[[Any], Any] | None:
    """How to find the former state of a list's item: only elements of a map can be told from each other."""
    if node.list_type != "map" or old.__class__ is not list:
        return None
    names = node.list_keys

    def key(item: Any) -> str:
        return repr([item.get(name) for name in names]) if item.__class__ is dict else ""

    index = {key(item): item for item in reversed(old)}
    return lambda item: index.get(key(item), UNRELATED)


def _object_check(node: Structural) -> _Members:
    schema = node.schema
    low, high = schema.get("minProperties"), schema.get("maxProperties")
    required: tuple[str, ...] = tuple(schema.get("required") or ())
    closed = schema.get("additionalProperties") is False
    correlated = not node.map_is_atomic

    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        size, passed = len(value), 0
        if low is not None and size < low:
            problems.append(("", too_few_properties(size, low)))
        if high is not None and size > high:
            problems.append(("", too_many_problem(size, high)))
        properties, additional = node.properties, node.additional
        relates = correlated and old.__class__ is dict
        mark = len(problems)
        for key, item in value.items():
            child = properties.get(key)
            if child is None:
                child = additional
                if child is None:
                    if closed:
                        problems.append(("", forbidden_property(key)))
                        mark += 1
                    continue
            passed += check_of(child)(item, old.get(key, UNRELATED) if relates else UNRELATED, problems)
            if len(problems) != mark:
                problems[mark:] = [(f".{key}{suffix}", make) for suffix, make in problems[mark:]]
                mark = len(problems)
        for name in required:
            if name not in value:
                problems.append((f".{name}", required_problem))
        return passed

    return check


def _junctions(schema: Mapping[str, Any]) -> Check | None:
    """anyOf, oneOf, allOf and not, in the order in which their problems are told."""
    steps: list[Check] = []
    for key, make in (("anyOf", _any_of), ("oneOf", _one_of), ("allOf", _all_of)):
        alternatives = schema.get(key)
        if alternatives:
            steps.append(make([Structural(alternative) for alternative in alternatives]))
    if schema.get("not") is not None:
        steps.append(_not(Structural(schema["not"])))
    if not steps:
        return None
    if len(steps) == 1:
        only = steps[0]
        return lambda value, old, problems: only(value, old, problems) + 1
    return lambda value, old, problems: sum(step(value, old, problems) for step in steps) + 1


def _outcome(node: Structural, value: Any, old: Any) -> tuple[int, list[Problem]]:
    found: list[Problem] = []
    return check_of(node)(value, old, found), found


def _any_of(nodes: list[Structural]) -> Check:
    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        best: tuple[int, list[Problem]] | None = None
        for node in nodes:
            passed, found = _outcome(node, value, old)
            if not found:
                return passed
            if best is None or passed > best[0]:
                best = passed, found
        assert best is not None, "there is an alternative"
        problems.append(("", composite("must validate at least one schema (anyOf)")))
        problems += best[1]
        return best[0]

    return check


def _one_of(nodes: list[Structural]) -> Check:
    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        best: tuple[int, list[Problem]] | None = None
        fitting: list[int] = []
        for node in nodes:
            passed, found = _outcome(node, value, old)
            if not found:
                fitting.append(passed)
            elif best is None or passed > best[0]:
                best = passed, found
        if len(fitting) == 1:
            return fitting[0]
        shown = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        problems.append(("", composite(f"must validate one and only one schema (oneOf). {shown}")))
        if fitting or best is None:
            return 0
        problems += best[1]
        return best[0]

    return check


def _all_of(nodes: list[Structural]) -> Check:
    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        passed = fitting = 0
        for node in nodes:
            count, found = _outcome(node, value, old)
            passed += count
            fitting += not found
            problems += found
        if fitting != len(nodes):
            none = "" if fitting else ". None validated"
            problems.append(("", composite(f"must validate all the schemas (allOf){none}")))
        return passed

    return check


def _not(node: Structural) -> Check:
    def check(value: Any, old: Any, problems: list[Problem]) -> int:
        if not _outcome(node, value, old)[1]:
            problems.append(("", composite("must not validate the schema (not)")))
        return 0

    return check
