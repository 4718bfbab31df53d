"""What a call is estimated to cost, and how large its result can get. Stored rules depend on these numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from kapi.cel.ast import Literal, Node
from kapi.cel.bounds import MAX, ONE, UNKNOWN, ZERO, Range, fixed
from kapi.cel.prices import AUTHORIZATION_CHECK, LIST, REGEX, STRUCT, TRAVERSAL
from kapi.cel.types import CelType

_NAME_FORMAT_REGEX = 128


class Operand(NamedTuple):
    """An argument or receiver: its size where known, and that of its items where it has some."""

    node: Node
    type: CelType
    computed: Range | None
    element: Range | None

    @property
    def size(self) -> Range:
        return self.computed if self.computed is not None else UNKNOWN


class CallCost(NamedTuple):
    cost: Range
    result: Range | None = None


Estimator = Callable[[Operand | None, list[Operand]], CallCost | None]


def call_cost(function: str, overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    """Without the cost of the arguments."""
    for table, key in ((_BY_OVERLOAD, overload), (_BY_FUNCTION, function), (_STANDARD, overload)):
        estimator = table.get(key)
        if estimator is not None:
            found = estimator(target, args)
            if found is not None:
                return found
    if overload.startswith("list_") and overload.endswith(("_sort", "_sortByAssociatedKeys")):
        return _sort(overload, args[0] if args else target)
    return CallCost(ONE)


def _nominal(target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(ONE)


# Kubernetes' functions


def _scan_argument(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(args[0].size.scaled(TRAVERSAL)) if args else None


def _scan_argument_sized(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(args[0].size.scaled(TRAVERSAL), args[0].size) if len(args) == 1 else None


def _scan_target(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(target.size.scaled(TRAVERSAL), target.size) if target else None


def _compare_items(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None:
        return None
    if target.element is None:
        return CallCost(target.size.scaled(TRAVERSAL))
    each = ONE
    if target.type.params[0].kind in ("string", "bytes"):
        each = each.plus(target.element.scaled(TRAVERSAL))
    return CallCost(target.size.times(each))


def _selector(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if len(args) != 1:
        return None
    requirements = args[0].size.scaled(0.5).scaled(float(LIST + STRUCT))
    return CallCost(fixed(LIST).plus(args[0].size.scaled(TRAVERSAL)).plus(requirements))


def _replace(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.size, args[0].size, args[1].size
    high_count = high_kept = low_count = low_kept = 0
    if old.low == 0:
        high_count, high_kept = min(size.high + 1, MAX), size.high
    elif new.high <= old.low:
        high_kept = size.high
    else:
        high_count = math.ceil(size.high / old.low)
    if old.high == 0:
        low_count, low_kept = min(size.low + 1, MAX), size.low
    elif old.high <= new.low:
        low_kept = size.low
    else:
        low_count = math.ceil(size.low / old.high)
    made = Range(low_count, high_count).times(new).plus(Range(low_kept, high_kept))
    return CallCost(size.scaled(2 * TRAVERSAL), made)


def _split(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None:
        return None
    most = target.size.high
    if len(args) > 1 and isinstance(args[1].node, Literal) and isinstance(args[1].node.value, int):
        most = args[1].node.value % (MAX + 1)
    return CallCost(target.size.scaled(2 * TRAVERSAL), Range(0, most))


def _join(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None:
        return None
    count = target.size
    size = count.times(target.element) if target.element is not None else ZERO
    if args:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(args[0].size.times(separators))
    return CallCost(size.scaled(TRAVERSAL), size)


def _find(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None or not args:
        return None
    return CallCost(_regex_cost(target, args[0]), Range(0, target.size.high))


def _regex_cost(text: Operand, pattern: Operand) -> Range:
    return text.size.plus(ONE).scaled(TRAVERSAL).times(pattern.size.scaled(REGEX))


def _twice_argument(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(args[0].size.scaled(2 * TRAVERSAL)) if args else None


def _contains_address(*, parse: bool, mask: bool) -> Estimator:
    def estimate(target: Operand | None, args: list[Operand]) -> CallCost | None:
        if not args:
            return None
        address = Range(4, 16)
        cost = address.plus(address).scaled(TRAVERSAL)
        if mask:
            cost = cost.plus(address.scaled(TRAVERSAL)).plus(ONE)
        if parse:
            cost = cost.plus(args[0].size.scaled(TRAVERSAL))
        return CallCost(cost)

    return estimate


def _validate(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(args[0].size.scaled(TRAVERSAL).scaled(_NAME_FORMAT_REGEX * REGEX)) if args else None


def _check(target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(fixed(AUTHORIZATION_CHECK))


def _kubernetes_equality(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name in _CONSTANT_EQUALITY:
        return CallCost(ONE)
    if name == "kubernetes.NamedFormat":
        return CallCost(Range(1, 64).scaled(TRAVERSAL))
    if name == "kubernetes.URL":
        size = args[1].computed or ONE
        return CallCost(Range(1, size.high).scaled(TRAVERSAL))
    return None


_CONSTANT_EQUALITY = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
    | {
        f"kubernetes.authorization.{kind}"
        for kind in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    }
)


# The list and set libraries


def _allocated(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor).plus(ONE).plus(fixed(LIST)), size)


def _whole_number(operand: Operand, otherwise: int) -> int:
    value = operand.node.value if isinstance(operand.node, Literal) else None
    return max(value, 0) if type(value) is int else otherwise


def _slice(target: Operand | None, args: list[Operand]) -> CallCost | None:
    if target is None or len(args) != 2:
        return None
    start, end = _whole_number(args[0], 0), _whole_number(args[1], target.size.high)
    return _allocated(1, fixed((end - start) % (MAX + 1)))


def _range(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return _allocated(1, fixed(_whole_number(args[0], MAX)))


def _reverse(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return _allocated(1, target.size) if target else None


def _flatten(target: Operand | None, args: list[Operand]) -> CallCost | None:
    depth = _whole_number(args[0], MAX) if args else 1
    return _allocated(float(depth), target.size) if target else None


def _distinct(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return _allocated(2.0, target.size.times(target.size)) if target else None


def _sort(overload: str, keys: Operand | None) -> CallCost:
    size = keys.size if keys is not None else UNKNOWN
    factor = 2.0 + (TRAVERSAL if overload.startswith(("list_string", "list_bytes")) else 0.0)
    return _allocated(factor, size.times(size))


def _sets(factor: float) -> Estimator:
    return lambda _, args: CallCost(args[0].size.times(args[1].size).scaled(factor).plus(ONE))


# The standard functions


def _to_bytes(target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].size
    return CallCost(size.scaled(TRAVERSAL), Range(size.low, size.high * 4 % (MAX + 1)))


def _from_bytes(target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].size
    return CallCost(size.scaled(TRAVERSAL), Range(size.low // 4, size.high))


def _quote(target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].size
    return CallCost(size.scaled(TRAVERSAL), Range(size.low + 2, (size.high * 2 + 2) % (MAX + 1)))


def _format(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(target.size.scaled(TRAVERSAL)) if target else None


def _in_list(target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(args[1].size.scaled(1))


def _matches(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(_regex_cost(target, args[0])) if target else None


def _contains(target: Operand | None, args: list[Operand]) -> CallCost | None:
    return CallCost(target.size.scaled(TRAVERSAL).times(args[0].size.scaled(TRAVERSAL))) if target else None


def _add_texts(target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].size.plus(args[1].size)
    return CallCost(size.scaled(TRAVERSAL), size)


def _add_lists(target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(ONE, args[0].size.plus(args[1].size))


def _comparison(target: Operand | None, args: list[Operand]) -> CallCost:
    smallest = min(args[0].size.high, args[1].size.high)
    return CallCost(Range(1 if smallest > 0 else 0, smallest).scaled(TRAVERSAL))


def _table(estimator: Estimator, names: str) -> dict[str, Estimator]:
    return dict.fromkeys(names.split(), estimator)


_BY_OVERLOAD: dict[str, Estimator] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "cidr_ip": _nominal,
    "cidr_contains_ip_string": _contains_address(parse=True, mask=False),
    "cidr_contains_ip_ip": _contains_address(parse=False, mask=False),
    "cidr_contains_cidr_string": _contains_address(parse=True, mask=True),
    "cidr_contains_cidr": _contains_address(parse=False, mask=True),
}
_BY_FUNCTION: dict[str, Estimator] = {
    "check": _check,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **_table(_compare_items, "isSorted sum max min indexOf lastIndexOf"),
    **_table(_scan_argument_sized, "url jsonpatch.escapeKey"),
    **_table(_scan_target, "lowerAscii upperAscii substring trim"),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **_table(_find, "find findAll"),
    **_table(_scan_argument, "cidr isIP isCIDR ip quantity isQuantity semver isSemver"),
    "ip.isCanonical": _twice_argument,
    "validate": _validate,
    "_==_": _kubernetes_equality,
}
_STANDARD: dict[str, Estimator] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _from_bytes,
    "strings_quote": _quote,
    **_table(_scan_argument, "starts_with_string ends_with_string"),
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    **_table(_add_texts, "add_string add_bytes"),
    "add_list": _add_lists,
    **_table(
        _comparison,
        "less_string greater_string less_equals_string greater_equals_string"
        " less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals",
    ),
}
