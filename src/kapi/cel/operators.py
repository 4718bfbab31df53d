"""What the operators do with values: 64-bit arithmetic, ordering, equality, membership, indexing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kapi.cel.types import CelType
from kapi.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    EvaluationError,
    MapList,
    NoSuchKey,
    NoSuchOverload,
    Optional,
    SetList,
    Timestamp,
    Uint,
    runtime_type,
)

TIME_MIN = -62135596800 * 10**9
TIME_MAX = 253402300799 * 10**9 + 999_999_999
_GROUPS: dict[type, str] = {
    bool: "bool", int: "number", Uint: "number", float: "number", str: "string", bytes: "bytes",
    Timestamp: "timestamp", Duration: "duration",
}  # fmt: skip
_LISTS = (list, SetList, MapList)


def int_result(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def uint_result(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def duration_result(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvaluationError("integer overflow")


def timestamp_result(nanoseconds: int, offset: int) -> Timestamp:
    if TIME_MIN <= nanoseconds <= TIME_MAX:
        return Timestamp(nanoseconds, offset)
    raise EvaluationError("timestamp overflow")


# Arithmetic


def add_ints(a: int, b: int) -> int:
    return int_result(a + b)


def add_lists(a: list[Any], b: list[Any]) -> list[Any]:
    """Sets and keyed lists merge, as Kubernetes has it; other lists are joined."""
    if isinstance(a, SetList):
        return SetList(a + [item for item in b if not contains(item, a)])
    if isinstance(a, MapList):
        newer = {a.identity(item): item for item in b}
        merged = [newer.pop(a.identity(item), item) for item in a]
        return MapList(merged + list(newer.values()), a.keys)
    return a + b


def add(a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return int_result(a + b)
        if ta in (str, float, bytes):
            return a + b
        if ta is Uint:
            return uint_result(a + b)
        if ta is Duration:
            return duration_result(a.nanoseconds + b.nanoseconds)
    if ta in _LISTS and tb in _LISTS:
        return add_lists(a, b)
    if ta is Timestamp and tb is Duration:
        return timestamp_result(a.nanoseconds + b.nanoseconds, a.offset)
    if ta is Duration and tb is Timestamp:
        return timestamp_result(a.nanoseconds + b.nanoseconds, b.offset)
    raise NoSuchOverload()


def subtract(a: Any, b: Any) -> Any:
    ta, tb = type(a), type(b)
    if ta is tb:
        if ta is int:
            return int_result(a - b)
        if ta is float:
            return a - b
        if ta is Uint:
            return uint_result(a - b)
        if ta is Duration or ta is Timestamp:
            return duration_result(a.nanoseconds - b.nanoseconds)
    if ta is Timestamp and tb is Duration:
        return timestamp_result(a.nanoseconds - b.nanoseconds, a.offset)
    raise NoSuchOverload()


def multiply(a: Any, b: Any) -> Any:
    ta = type(a)
    if ta is type(b):
        if ta is int:
            return int_result(a * b)
        if ta is float:
            return a * b
        if ta is Uint:
            return uint_result(a * b)
    raise NoSuchOverload()


def divide_ints(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return int_result(quotient if (a < 0) == (b < 0) else -quotient)


def divide_doubles(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def divide(a: Any, b: Any) -> Any:
    ta = type(a)
    if ta is type(b):
        if ta is int:
            return divide_ints(a, b)
        if ta is float:
            return divide_doubles(a, b)
        if ta is Uint:
            return Uint(divide_ints(a, b))
    raise NoSuchOverload()


def modulo(a: Any, b: Any) -> Any:
    ta = type(a)
    if ta is not type(b) or ta not in (int, Uint):
        raise NoSuchOverload()
    if b == 0:
        raise EvaluationError("modulus by zero")
    if a == INT_MIN and b == -1 and ta is int:
        raise EvaluationError("integer overflow")
    remainder = abs(a) % abs(b)
    return ta(-remainder if a < 0 else remainder)


def negate(a: Any) -> Any:
    if type(a) is int:
        return int_result(-a)
    if type(a) is float:
        return -a
    if type(a) is Duration:
        return duration_result(-a.nanoseconds)
    raise NoSuchOverload("-_")


def logical_not(a: Any) -> bool:
    if a is True:
        return False
    if a is False:
        return True
    raise NoSuchOverload()


# Ordering


def check_ordered(a: Any, b: Any) -> None:
    group = _GROUPS.get(type(a))
    if group is None or group != _GROUPS.get(type(b)):
        raise NoSuchOverload()
    if a != a or b != b:
        raise EvaluationError("NaN values cannot be ordered")


def less(a: Any, b: Any) -> bool:
    check_ordered(a, b)
    return bool(a < b)


def less_equals(a: Any, b: Any) -> bool:
    check_ordered(a, b)
    return bool(a <= b)


def greater(a: Any, b: Any) -> bool:
    check_ordered(a, b)
    return bool(a > b)


def greater_equals(a: Any, b: Any) -> bool:
    check_ordered(a, b)
    return bool(a >= b)


# Equality


def equal(a: Any, b: Any) -> bool:
    """Equality across all types: numbers by value, containers by their items, anything else by type."""
    ta, tb = type(a), type(b)
    if ta in _LISTS:
        return tb in _LISTS and _equal_lists(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and _equal_maps(a, b)
    if ta is tb:
        if ta is Optional:
            return a.present == b.present and (not a.present or equal(a.value, b.value))
        if ta is CelType:
            return _same_type(a, b)
        return bool(a == b)
    return _GROUPS.get(ta) == "number" and _GROUPS.get(tb) == "number" and bool(a == b)


def not_equal(a: Any, b: Any) -> bool:
    return not equal(a, b)


def _same_type(a: CelType, b: CelType) -> bool:
    return a.kind == b.kind and a.name == b.name


def _equal_lists(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, SetList):
        return all(contains(item, b) for item in a) and all(contains(item, a) for item in b)
    if isinstance(a, MapList):
        other = {a.identity(item): item for item in b}
        return len(other) == len(b) and all(
            a.identity(item) in other and equal(item, other[a.identity(item)]) for item in a
        )
    return all(map(equal, a, b))


def _equal_maps(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    if len(a) != len(b) or getattr(a, "type_name", "") != getattr(b, "type_name", ""):
        return False
    return all(key in b and equal(value, b[key]) for key, value in a.items())


# Containers


def contains(item: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(item, candidate) for candidate in container)
    if isinstance(container, dict):
        return find_key(container, item) is not None
    raise NoSuchOverload()


def find_key(mapping: dict[Any, Any], key: Any) -> tuple[Any] | None:
    """The value under a key, wrapped; a bool is no number although Python hashes it as one."""
    if type(key) not in (str, int, Uint, float, bool):
        return None
    if key not in mapping:
        return None
    if key in (0, 1) and not isinstance(key, str):
        stored = next(candidate for candidate in mapping if candidate == key)
        if isinstance(stored, bool) != isinstance(key, bool):
            return None
    return (mapping[key],)


def list_index(index: Any) -> int:
    if type(index) is int:
        return index
    if type(index) is Uint and index <= INT_MAX:
        return int(index)
    if type(index) is float and index.is_integer():
        return int(index)
    if type(index) in (Uint, float):
        raise EvaluationError(f"unsupported index value {index} in list")
    raise EvaluationError(f"unsupported index type '{runtime_type(index).name}' in list")


def index(container: Any, key: Any) -> Any:
    if isinstance(container, dict):
        found = find_key(container, key)
        if found is None:
            raise NoSuchKey(key)
        return found[0]
    if isinstance(container, list):
        position = list_index(key)
        if 0 <= position < len(container):
            return container[position]
        raise EvaluationError(f"index out of bounds: {position}")
    if type(container) is Optional:
        return optional_index(container, key)
    raise NoSuchKey(key)


def optional_index(container: Any, key: Any) -> Optional:
    """`container[?key]`: nothing where there is no such key."""
    if type(container) is Optional:
        if not container.present:
            return container
        container = container.value
    if isinstance(container, dict):
        found = find_key(container, key)
        return Optional(found[0]) if found is not None else Optional(present=False)
    if isinstance(container, list):
        position = list_index(key)
        return Optional(container[position]) if 0 <= position < len(container) else Optional(present=False)
    return Optional(present=False)


def size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise NoSuchOverload("size")


GENERIC: dict[str, Callable[..., Any]] = {
    "_+_": add, "_-_": subtract, "_*_": multiply, "_/_": divide, "_%_": modulo, "-_": negate, "!_": logical_not,
    "_<_": less, "_<=_": less_equals, "_>_": greater, "_>=_": greater_equals, "_==_": equal, "_!=_": not_equal,
    "@in": contains, "_[_]": index, "_[?_]": optional_index, "size": size,
}  # fmt: skip
