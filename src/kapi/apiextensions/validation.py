"""Validation of definitions."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.objects import Object


def validate(_: Call, new: Object) -> list[FieldError]:
    return []


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return []


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return []


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    return []
