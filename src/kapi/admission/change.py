"""An object is changed on its way in: decoded by its type and defaulted anew, as if a client had sent it so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from kapi.admission.matching import Match
from kapi.admission.refusal import Failed
from kapi.admission.versions import NotConverted, Versions
from kapi.api.errors import InternalError
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.codec.decode import unknown_kind
from kapi.registry.attributes import Attributes
from kapi.registry.resource import Resource
from kapi.schema.compile import decode
from kapi.schema.empties import as_nothing
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import type_of

_PACKAGES = {"": "core"}


async def change(attributes: Attributes, match: Match, versions: Versions, patch: Callable[[Any], Any]) -> bool:
    """Whether the patch changed the object, as that version shows it. Raises what the patch raises, and APIError."""
    held = attributes.object
    assert held is not None, "only what is there can be changed"
    try:
        # What is patched is what others are shown: the encoder's view of the object.
        shown = orjson.loads(_encoded(await versions.shown(attributes, held, match.kind)))
        patched = patch(shown)
        if patched == shown:
            return False
        new = await versions.taken(attributes, _typed(patched, match, versions.at(match.resource), attributes))
    except NotConverted as error:
        raise InternalError(str(error)) from None
    held.clear()
    held |= new
    return True


def _encoded(shown: Object | None) -> bytes:
    return orjson.dumps(shown, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)


def _typed(patched: Any, match: Match, resource: Resource | None, attributes: Attributes) -> Object:
    kind = _kind(patched)
    if kind != match.kind:
        package = _PACKAGES.get(match.kind.group, match.kind.group.partition(".")[0])
        why = unknown_kind(kind, match.kind)
        raise Failed(
            why or f"converting ({kind.version}.{kind.kind}) to ({package}.{match.kind.kind}): unknown conversion"
        )
    if resource is not None and resource.untyped is not None:
        try:
            resource.untyped.settle(patched)
        except ValueError as malformed:
            raise InternalError(str(malformed)) from None
    else:
        try:
            decode(type_of(*match.kind), patched)
        except TypeMismatch as mismatch:
            raise InternalError(mismatch.message) from None
    if not isinstance(patched.get("metadata"), dict):
        patched["metadata"] = {}
    if resource is not None and not attributes.subresource and resource.strategy.default is not None:
        resource.strategy.default(patched)
    typed: Object = patched
    return typed


def _kind(patched: Any) -> GroupVersionKind:
    if not isinstance(patched, dict):
        raise InternalError(
            f"json: cannot unmarshal {type(patched).__name__} into Go value of type map[string]interface {{}}"
        )
    group, _, version = str(patched.get("apiVersion") or "").rpartition("/")
    return GroupVersionKind(group, version, str(patched.get("kind") or ""))
