"""The seam to CEL: the rules in `x-kubernetes-validations` of a schema. Its engine is loaded with the first rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from kapi.api.fields import FieldError
from kapi.schema.empties import as_nothing

if TYPE_CHECKING:
    from kapi.cel.custom_resources import Judgement


def evaluator(schema: Mapping[str, Any]) -> Judgement | None:
    """What judges objects by a schema's rules; None when it has none."""
    if not has_rules(schema):
        return None
    from kapi.cel.custom_resources import evaluator as compiled  # most definitions have no rules

    return compiled(schema)


def has_rules(schema: Mapping[str, Any]) -> bool:
    """Whether there may be rules in it."""
    return b'"x-kubernetes-validations":' in orjson.dumps(schema, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)


def validate_rules(schema: Mapping[str, Any], path: str, *, costs: bool) -> list[FieldError]:
    """What is wrong with a schema's rules themselves; `costs` when expensive ones are refused."""
    if not has_rules(schema):
        return []
    from kapi.cel.custom_resources import validate_rules as checked

    return checked(schema, path, costs=costs)
