"""Reading fields: from objects of a declared type, from maps, and from values of any type."""

from __future__ import annotations

from typing import Any

from kapi.cel.plan import Frame, Plan, Run
from kapi.cel.types import CelType, is_dyn, is_optional
from kapi.cel.values import NONE, EvaluationError, NoSuchKey, Optional


def select(operand: Plan, operand_type: CelType, name: str, result: CelType) -> Plan:
    cost = operand.cost + 1
    if operand_type.kind == "struct":
        return Plan(_of_object(operand, _json_name(operand_type, name), name, result.kind == "double"), cost)
    if operand_type.kind == "map":
        return Plan(_of_map(operand, name, result.kind == "double"), cost)
    step = operand.run
    return Plan(lambda frame: field_of(step(frame), name), cost)


def _json_name(operand_type: CelType, name: str) -> str:
    field = operand_type.declaration.find(name) if operand_type.declaration is not None else None
    return field.name if field is not None else name


def _of_object(operand: Plan, name: str, shown: str, is_double: bool) -> Run:
    """A null field of an object is an absent one, as Kubernetes has it; errors name it as the expression does."""
    step = operand.run
    slot = operand.slot

    def of_variable(frame: Frame) -> Any:
        try:
            value = frame[slot][name]
        except (KeyError, TypeError):
            raise NoSuchKey(shown) from None
        if value is None:
            raise NoSuchKey(shown)
        return value

    def of_value(frame: Frame) -> Any:
        holder = step(frame)
        try:
            value = holder[name]
        except (KeyError, TypeError):
            raise NoSuchKey(shown) from None
        if value is None:
            raise NoSuchKey(shown)
        return value

    run = of_variable if slot >= 0 else of_value
    return as_double(run) if is_double else run


def _of_map(operand: Plan, name: str, is_double: bool) -> Run:
    step = operand.run

    def run(frame: Frame) -> Any:
        holder = step(frame)
        try:
            return holder[name]
        except (KeyError, TypeError):
            raise NoSuchKey(name) from None

    return as_double(run) if is_double else run


def as_double(run: Run) -> Run:
    """JSON writes 1.0 as 1: a number of the schema is a double all the same."""

    def convert(frame: Frame) -> Any:
        value = run(frame)
        return float(value) if type(value) is int else value

    return convert


def field_of(holder: Any, name: str) -> Any:
    """A field of a value of unknown type."""
    if isinstance(holder, dict):
        try:
            return holder[name]
        except KeyError:
            raise NoSuchKey(name) from None
    if type(holder) is Optional:
        return optional_field(holder, name)
    check_indexed_by_name(holder)
    raise NoSuchKey(name)


def check_indexed_by_name(holder: Any) -> None:
    if isinstance(holder, list):
        raise EvaluationError("unsupported index type 'string' in list")


def optional_field(holder: Any, name: str) -> Optional:
    """`holder.?name`: nothing where the field is not there."""
    if type(holder) is Optional:
        if not holder.present:
            return holder
        holder = holder.value
    return Optional(holder[name]) if has_field(holder, name) else NONE


def has_field(holder: Any, name: str) -> bool:
    return isinstance(holder, dict) and holder.get(name) is not None


def optional_select(operand: Plan, operand_type: CelType, name: str) -> Plan:
    inner = operand_type.params[0] if is_optional(operand_type) else operand_type
    wanted = _json_name(inner, name) if inner.kind == "struct" else name
    step = operand.run
    if inner.kind == "struct":
        return Plan(lambda frame: optional_field(step(frame), wanted), operand.cost + 1)

    def run(frame: Frame) -> Optional:
        holder = step(frame)
        if type(holder) is Optional:
            if not holder.present:
                return holder
            holder = holder.value
        return Optional(holder[wanted]) if isinstance(holder, dict) and wanted in holder else NONE

    return Plan(run, operand.cost + 1)


def presence(operand: Plan, operand_type: CelType, name: str) -> Plan:
    """`has(operand.name)`: the test itself is free."""
    step = operand.run
    if operand_type.kind == "struct":
        wanted = _json_name(operand_type, name)
        return Plan(lambda frame: has_field(step(frame), wanted), operand.cost)
    if operand_type.kind == "map" and not is_dyn(operand_type):
        return Plan(lambda frame: name in step(frame), operand.cost)

    def run(frame: Frame) -> bool:
        holder = step(frame)
        if type(holder) is Optional:
            holder = holder.value
        check_indexed_by_name(holder)
        return isinstance(holder, dict) and name in holder

    return Plan(run, operand.cost)
