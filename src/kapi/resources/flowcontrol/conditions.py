"""What both kinds of this group do alike: generations, and conditions that are told apart by their type."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_all_but_status, keep_status, start_generation


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}
    start_generation(new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)
    keep_status(call, new, old)


def validate_conditions(status: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate((status or {}).get("conditions") or []):
        kind, path = condition.get("type", ""), f"status.conditions[{i}].type"
        if kind in seen:
            errors.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(path))
    return errors


def _validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    return validate_conditions(new.get("status"))


STATUS = Subresource(
    strategy=Strategy(
        prepare_for_update=keep_all_but_status,
        validate_update=_validate_status_update,
        reset=excluding("metadata", "spec"),
    )
)
