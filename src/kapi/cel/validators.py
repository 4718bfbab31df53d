"""What Kubernetes refuses beyond types: bad literals, containers of mixed types, formats that can not work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kapi.cel.ast import Call, ListExpr, Literal, MapExpr, Node, children
from kapi.cel.conversions import to_duration, to_timestamp
from kapi.cel.library.formatting import check_format
from kapi.cel.library.regex import compiled
from kapi.cel.source import Issue
from kapi.cel.types import CelType, unwrap_optional
from kapi.cel.values import EvaluationError

_LITERAL_CHECKS: dict[str, Callable[[Any], object]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": compiled,
}


def validate(tree: Node) -> list[Issue]:
    issues: list[Issue] = []
    for node, exempt in _walk(tree, exempt=False):
        if isinstance(node, Call):
            issues += _bad_literal(node)
            if node.function == "format":
                issues += check_format(node)
        elif isinstance(node, ListExpr) and not exempt:
            issues += _mixed_list(node)
        elif isinstance(node, MapExpr) and not exempt:
            issues += _mixed_map(node)
    return issues


def _walk(node: Node, *, exempt: bool) -> Iterator[tuple[Node, bool]]:
    """Every node, and whether it stands below a call of format, which takes mixed lists."""
    pending = [(node, exempt)]
    while pending:
        current, free = pending.pop()
        yield current, free
        below = free or (isinstance(current, Call) and current.function == "format")
        pending.extend((child, below) for child in reversed(children(current)))


def _bad_literal(node: Call) -> list[Issue]:
    check = _LITERAL_CHECKS.get(node.function)
    if check is None or not node.args:
        return []
    literal = node.args[0]
    if not isinstance(literal, Literal) or not isinstance(literal.value, (str, int)):
        return []
    try:
        check(literal.value)
    except EvaluationError:
        return [Issue(literal.offset, f"invalid {node.function} argument")]
    return []


def _mismatch(node: Node, expected: CelType, actual: CelType) -> Issue:
    return Issue(node.offset, f"expected type '{expected}' but found '{actual}'")


def _mixed_list(node: ListExpr) -> list[Issue]:
    expected: CelType | None = None
    for position, element in enumerate(node.elements):
        found = unwrap_optional(element.type)[0] if position in node.optional else element.type
        if expected is None:
            expected = found
        elif not _equivalent(expected, found):
            return [_mismatch(element, expected, found)]
    return []


def _mixed_map(node: MapExpr) -> list[Issue]:
    issues: list[Issue] = []
    if not node.entries:
        return issues
    first = node.entries[0]
    key, value = first.key.type, first.value.type
    if first.optional:
        value = unwrap_optional(value)[0]
    for entry in node.entries[1:]:
        found = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if not _equivalent(key, entry.key.type):
            issues.append(_mismatch(entry.key, key, entry.key.type))
        if not _equivalent(value, found):
            issues.append(_mismatch(entry.value, value, found))
    return issues


def _equivalent(left: CelType, right: CelType) -> bool:
    if left.kind != right.kind or len(left.params) != len(right.params):
        return False
    if left.kind != "param" and left.name != right.name:
        return False
    return all(map(_equivalent, left.params, right.params))
