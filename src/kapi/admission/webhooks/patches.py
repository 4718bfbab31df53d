"""What a webhook's patch makes of an object: decoded by its type and defaulted, as if a client had sent it so."""

from __future__ import annotations

from typing import Any

import orjson

from kapi.admission.matching import Match
from kapi.admission.refusal import Failed
from kapi.admission.versions import Versions
from kapi.admission.webhooks.registered import Webhook
from kapi.admission.webhooks.review import Answer, WebhookFailed
from kapi.api.errors import InternalError
from kapi.api.fields import go_quote
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.decode import unknown_kind
from kapi.codec.json_syntax import syntax_error
from kapi.patch import json_patch
from kapi.patch.errors import BadPatch, PatchError
from kapi.registry.attributes import Attributes
from kapi.registry.resource import Resource
from kapi.schema.compile import decode
from kapi.schema.empties import as_nothing
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import type_of

_PACKAGES = {"": "core"}


def apply_patch(webhook: Webhook, answer: Answer, attributes: Attributes, match: Match, versions: Versions) -> bool:
    """Change the object as the answer says; whether that changed anything. Raises WebhookFailed and APIError."""
    operations = _operations(webhook, answer)
    if not operations:
        return False
    if attributes.object is None:
        raise InternalError(
            f"admission webhook {go_quote(webhook.name)} attempted to modify the object, which is not supported for "
            "this operation"
        )
    if answer.patch_type != "JSONPatch":
        raise WebhookFailed(webhook, f"unsupported patch type {go_quote(answer.patch_type)}")
    # What is patched is what was sent: the encoder's view of the object.
    shown = orjson.loads(_encoded(versions.shown(attributes, attributes.object, match.kind)))
    try:
        patched = json_patch.apply(shown, operations)
    except PatchError as error:
        raise InternalError(str(error)) from None
    if patched == shown:
        return False
    new = versions.taken(attributes, _typed(patched, match, versions.at(match.resource), attributes))
    attributes.object.clear()
    attributes.object |= new
    return True


def _encoded(shown: Object | None) -> bytes:
    return orjson.dumps(shown, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)


def _operations(webhook: Webhook, answer: Answer) -> list[json_patch.Operation]:
    if not answer.patch:
        return []
    try:
        return json_patch.operations(json.loads(answer.patch))
    except (ValueError, BadPatch) as error:
        problem = syntax_error(answer.patch) or str(error)
        raise WebhookFailed(webhook, f"received undecodable patch in webhook response: {problem}") from None


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
