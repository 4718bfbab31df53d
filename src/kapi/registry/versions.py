"""Versions of a built-in resource: one object as each has it, for the fields that managers own there."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.patch.apply.update import Convert
from kapi.patch.errors import InvalidApply
from kapi.patch.values import copied
from kapi.registry.resource import Conversion
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import type_of
from kapi.schema.types import Type


def between(shown: GroupVersionKind, conversion: Conversion) -> Convert:
    """From the stored version to the one that is shown instead, and back."""
    ways: dict[str, tuple[GroupVersionKind, Callable[[Object], Object]]] = {
        str(shown.group_version): (shown, conversion.from_stored),
        str(conversion.stored.group_version): (conversion.stored, conversion.to_stored),
    }

    def convert(obj: Object, api_version: str) -> tuple[Object, Type] | None:
        if api_version not in ways:
            return None
        target, way = ways[api_version]
        if obj["apiVersion"] == api_version:
            return obj, type_of(*target)
        source, _ = ways[obj["apiVersion"]]
        return _settled(way(_settled(copied(obj), source)), target), type_of(*target)

    return convert


def alone(gvk: GroupVersionKind) -> Convert:
    """Of a resource that another group shows as well. As upstream, which looks for types in a group of its own only:
    what is owned there is forgotten."""

    def convert(obj: Object, api_version: str) -> tuple[Object, Type] | None:
        return (obj, type_of(*gvk)) if api_version == str(gvk.group_version) else None

    return convert


def _settled(obj: Object, gvk: GroupVersionKind) -> Object:
    """As Go has it when it converts: parts of an object that are needed are there, empty."""
    try:
        decode(type_of(*gvk), obj)
    except TypeMismatch as mismatch:
        raise InvalidApply(str(mismatch)) from None
    return obj
