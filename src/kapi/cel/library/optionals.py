"""Optional values."""

from __future__ import annotations

from typing import Any

from kapi.cel import macros
from kapi.cel.functions import Library, method, overload
from kapi.cel.operators import index, optional_index
from kapi.cel.types import BOOL, DYN, INT, STRING, list_of, map_of, optional_of, param
from kapi.cel.values import NONE, Duration, EvaluationError, Optional, Timestamp

K, V = param("K"), param("V")


def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def of_non_zero(value: Any) -> Optional:
    if isinstance(value, Optional):
        return Optional(value) if value.present else NONE
    if isinstance(value, Duration):
        return Optional(value) if value.nanoseconds else NONE
    if isinstance(value, Timestamp):
        return Optional(value)
    return Optional(value) if value else NONE


def unwrapped(optionals: list[Any]) -> list[Any]:
    for item in optionals:
        if not isinstance(item, Optional):
            raise EvaluationError(f"value {item} is not optional")
    return [item.value for item in optionals if item.present]


def _end(position: int) -> Any:
    return lambda items: Optional(items[position]) if items else NONE


def library() -> Library:
    maybe, items, mapping = optional_of(V), list_of(V), map_of(K, V)
    optional_items = list_of(maybe)
    return Library(
        functions={
            "optional.of": (overload("optional_of", (V,), maybe, Optional),),
            "optional.ofNonZeroValue": (overload("optional_ofNonZeroValue", (V,), maybe, of_non_zero),),
            "optional.none": (overload("optional_none", (), maybe, lambda: NONE),),
            "value": (method("optional_value", (maybe,), V, value_of),),
            "hasValue": (method("optional_hasValue", (maybe,), BOOL, lambda optional: optional.present),),
            "or": (method("optional_or_optional", (maybe, maybe), maybe),),
            "orValue": (method("optional_orValue_value", (maybe, V), V),),
            "_?._": (overload("select_optional_field", (DYN, STRING), maybe),),
            "_[?_]": (
                overload("list_optindex_optional_int", (items, INT), maybe, optional_index),
                overload("optional_list_optindex_optional_int", (optional_of(items), INT), maybe, optional_index),
                overload("map_optindex_optional_value", (mapping, K), maybe, optional_index),
                overload("optional_map_optindex_optional_value", (optional_of(mapping), K), maybe, optional_index),
            ),
            "_[_]": (
                overload("optional_list_index_int", (optional_of(items), INT), maybe, index),
                overload("optional_map_index_value", (optional_of(mapping), K), maybe, index),
            ),
            "last": (method("list_last", (items,), maybe, _end(-1)),),
            "first": (method("list_first", (items,), maybe, _end(0)),),
            "optional.unwrap": (overload("optional_unwrap", (optional_items,), items, unwrapped),),
            "unwrapOpt": (method("optional_unwrapOpt", (optional_items,), items, unwrapped),),
        },
        macros=macros.OPTIONALS,
        types={"optional_type": optional_of(DYN)},
    )
