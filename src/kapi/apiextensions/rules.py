"""The seam to CEL: the rules in `x-kubernetes-validations` of a schema.

They are stored and checked for their form. They are judged by `kapi.cel.custom_resources` where that exists; without
it they are accepted and not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

import orjson

from kapi.api.fields import FieldError
from kapi.api.objects import Object
from kapi.schema.empties import as_nothing

# new, old (None on create): what the rules hold against it
Evaluate: TypeAlias = Callable[[Object, Object | None], list[FieldError]]
_ENGINE = "kapi.cel.custom_resources"


def evaluator(schema: Object) -> Evaluate | None:
    """What judges objects by a schema's rules; None when it has none, or nothing here understands them."""
    if not has_rules(schema) or find_spec(_ENGINE) is None:
        return None
    make: Callable[[Object], Evaluate] = import_module(_ENGINE).evaluator
    return make(schema)


def has_rules(schema: Object) -> bool:
    """Whether there may be rules in it."""
    return b'"x-kubernetes-validations":' in orjson.dumps(schema, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)


def validate_rules(schema: Object, path: str, *, costs: bool) -> list[FieldError]:
    """What is wrong with a schema's rules themselves; `costs` when expensive ones are refused."""
    if not has_rules(schema) or find_spec(_ENGINE) is None:
        return []
    check: Callable[..., list[FieldError]] = import_module(_ENGINE).validate_rules
    return check(schema, path, costs=costs)
