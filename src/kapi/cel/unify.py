"""Which type may stand where another is wanted, and what that binds type parameters to."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.cel.types import CelType, is_dyn

Bindings = dict[CelType, CelType]

_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})


def assignable(bindings: Bindings, left: CelType, right: CelType) -> Bindings | None:
    """New bindings under which the types agree, or None."""
    trial = dict(bindings)
    return trial if _assignable(trial, left, right) else None


def assignable_all(bindings: Bindings, left: Sequence[CelType], right: Sequence[CelType]) -> Bindings | None:
    trial = dict(bindings)
    return trial if _assignable_all(trial, left, right) else None


def most_general(left: CelType, right: CelType) -> CelType:
    return left if _equal_or_less_specific(left, right) else right


def _equal_or_less_specific(left: CelType, right: CelType) -> bool:
    if is_dyn(left) or left.kind == "param":
        return True
    if is_dyn(right) or right.kind == "param" or left.kind != right.kind:
        return False
    if left.kind in ("opaque", "list", "map"):
        return (
            left.name == right.name
            and len(left.params) == len(right.params)
            and all(map(_equal_or_less_specific, left.params, right.params))
        )
    return left.kind == "type" or left == right


def _assignable(m: Bindings, left: CelType, right: CelType) -> bool:
    if right.kind == "param":
        valid, bound = _bind(m, left, right)
        if valid:
            return True
        if bound:
            return False
    if left.kind == "param":
        return _bind(m, right, left)[0]
    if is_dyn(left) or is_dyn(right) or left.kind == "error" or right.kind == "error":
        return True
    if left.kind == "null":
        return right.kind == "null" or right.kind in _NULLABLE
    if right.kind == "null":
        return left.kind in _NULLABLE
    if left.kind == "type":
        return right.kind == "type"
    if left.kind in ("opaque", "list", "map"):
        return left.kind == right.kind and left.name == right.name and _assignable_all(m, left.params, right.params)
    return left == right


def _assignable_all(m: Bindings, left: Sequence[CelType], right: Sequence[CelType]) -> bool:
    return len(left) == len(right) and all(_assignable(m, a, b) for a, b in zip(left, right, strict=True))


def _bind(m: Bindings, value: CelType, parameter: CelType) -> tuple[bool, bool]:
    """Whether the value may be bound to the parameter, and whether it had a binding already."""
    if value == parameter:
        return True, True
    current = m.get(parameter)
    if current is not None:
        if value == current:
            return True, True
        if _assignable(m, value, current):
            general = most_general(value, current)
            if _free_of(m, parameter, general):
                m[parameter] = general
            return True, True
        return False, True
    if _free_of(m, parameter, value):
        m[parameter] = value
        return True, False
    return False, False


def _free_of(m: Bindings, parameter: CelType, within: CelType) -> bool:
    if parameter == within:
        return False
    if within.kind == "param":
        bound = m.get(within)
        return bound is None or _free_of(m, parameter, bound)
    return all(_free_of(m, parameter, inner) for inner in within.params)
