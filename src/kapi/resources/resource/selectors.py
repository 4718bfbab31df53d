"""Selectors of devices: CEL expressions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kapi.api.fields import FieldError, internal, invalid, required, too_long
from kapi.api.objects import Object
from kapi.resources.resource.findings import Findings

if TYPE_CHECKING:
    from kapi.cel.environment import Environment

_MOST = 32
_MOST_BYTES = 10 * 1024


def check_selectors(found: Findings, selectors: list[Object] | None, path: str) -> None:
    def check(selector: Object, at: str) -> None:
        cel = selector.get("cel")
        if cel is None:
            found.add(required(f"{at}.cel"))
        elif len(cel.get("expression", "").encode()) > _MOST_BYTES:
            found.add(too_long(f"{at}.cel.expression", _MOST_BYTES))
        elif error := _wrong(cel.get("expression", ""), f"{at}.cel.expression"):
            found.add(error)

    found.each(selectors, _MOST, path, check)


def _wrong(expression: str, path: str) -> FieldError | None:
    from kapi.cel.source import CompileError, InstantiationError  # CEL loads slowly, and most servers meet no selector
    from kapi.cel.types import ANY, BOOL, DYN, declared_name

    try:
        program = _environment().compile(expression)
    except InstantiationError as error:
        return internal(path, f"{error.step} failed: {error}")
    except CompileError as error:
        return invalid(path, expression, f"{error.step} failed: {error}")
    if program.result_type in (ANY, BOOL, DYN):
        return None
    found = declared_name(program.result_type)
    return invalid(path, expression, f"must evaluate to bool or the unknown type, not {found}")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from kapi.cel.declarations import ANYTHING, BOOLEAN, TEXT, Declaration, Field, mapping_of, object_of
    from kapi.cel.environment import Environment
    from kapi.cel.kubernetes import libraries
    from kapi.cel.library import bindings
    from kapi.cel.library.quantity import QUANTITY

    fields = {
        "driver": TEXT,
        "attributes": mapping_of(mapping_of(ANYTHING, _MOST), _MOST),
        "capacity": mapping_of(mapping_of(Declaration(type=QUANTITY), _MOST), _MOST),
        "allowMultipleAllocations": BOOLEAN,
    }
    named = {name: Field(name=name, declaration=held) for name, held in fields.items()}
    return Environment({"device": object_of("kubernetes.DRADevice", named)}, (*libraries(), bindings.library()))
