"""Request bodies: read, decoded, checked against the path they were sent to."""

from __future__ import annotations

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.codec.decode import (
    PROTOBUF,
    Decoded,
    decode_object,
    decode_options,
    decode_untyped,
    strict_message,
    summary,
)
from kapi.codec.strict import unknown
from kapi.endpoints.endpoint import Endpoint
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Resource, Untyped

JSON, YAML = "application/json", "application/yaml"
_UNKNOWN_FORMAT = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
# As upstream's audit names them.
_INTERNAL_OPTIONS = "meta.k8s.io/__internal"
_OPTIONS = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")


def content_type(call: Call) -> str:
    """The media type of the body, without its parameters."""
    given = call.request.headers.get("content-type") or ""
    return given.partition(";")[0].strip()


def media_type(call: Call) -> str:
    """JSON, YAML or protobuf; JSON when nothing is said."""
    given = content_type(call).lower() or JSON
    if given in (JSON, YAML, PROTOBUF) and _has_good_parameters(call):
        return given
    raise errors.UnsupportedMediaType(_UNKNOWN_FORMAT)


def _has_good_parameters(call: Call) -> bool:
    _, *parameters = (call.request.headers.get("content-type") or "").split(";")
    return all("=" in parameter or not parameter.strip() for parameter in parameters)


async def read_object(call: Call, endpoint: Endpoint, options: WriteOptions) -> Object:
    """The object that a create or an update sends, defaulted."""
    kind = media_type(call)
    body = await call.request.body(endpoint.limits.body_bytes)
    return decode_body(call, endpoint, body, kind, options)


def decode_body(call: Call, endpoint: Endpoint, body: bytes, kind: str, options: WriteOptions) -> Object:
    resource = endpoint.resource
    if resource.untyped is not None:
        decoded = _decode_custom(body, kind, resource, resource.untyped, options)
    else:
        decoded = decode_object(body, kind, resource.gvk, options.field_validation, type_=resource.schema)
    for warning in decoded.warnings:
        call.warn(warning)
    new = decoded.object
    if not isinstance(new.get("metadata"), dict):
        new["metadata"] = {}
    if resource.strategy.default is not None:
        resource.strategy.default(new)
    if call.audit is not None:
        call.audit.request_object(new)
    deduplicate_owners(call, new)
    return new


def _decode_custom(body: bytes, kind: str, resource: Resource, untyped: Untyped, options: WriteOptions) -> Decoded:
    """A custom resource's object: JSON, then its definition's schema."""
    decoded = decode_untyped(body, kind, resource.kind, options.field_validation)
    given, expected = decoded.gvk, resource.gvk
    if not given.kind:
        text = body.decode("utf-8", "replace")
        why = f"Object 'Kind' is missing in '{text}' ({summary(body)})"
        raise errors.BadRequest(f"the object provided is unrecognized (must be of type {resource.kind}): {why}")
    if given.group_version != expected.group_version:
        raise errors.BadRequest(
            f"the API version in the data ({given.group_version}) does not match the expected API version "
            f"({expected.group_version})"
        )
    try:
        problems = [*decoded.problems, *(unknown(path) for path in untyped.settle(decoded.object))]
    except ValueError as malformed:
        raise errors.BadRequest(_cannot_be_handled(resource, str(malformed))) from None
    if problems and options.field_validation == "Strict":
        raise errors.BadRequest(_cannot_be_handled(resource, strict_message(problems)))
    return Decoded(decoded.object, given, problems if options.field_validation == "Warn" else [])


def _cannot_be_handled(resource: Resource, why: str) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'


def deduplicate_owners(call: Call, new: Object, *, when: str = "") -> None:
    """Owner references that stand twice are taken once, with a warning."""
    owners = new["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: dict[bytes, Object] = {}
    doubled: dict[str, None] = {}
    for owner in owners:
        # By its text: a search among thousands for each of thousands would take minutes.
        if kept.setdefault(orjson.dumps(owner, option=orjson.OPT_SORT_KEYS), owner) is not owner:
            doubled[owner.get("uid", "")] = None
    if doubled:
        new["metadata"]["ownerReferences"] = list(kept.values())
        call.warn(
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
            "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(doubled)
        )


def check_namespace(call: Call, endpoint: Endpoint, new: Object) -> None:
    """The object is in the namespace of the path; if it does not say, it is now."""
    metadata = new["metadata"]
    if not endpoint.resource.names.namespaced:
        # As upstream: what has no namespace is taken without the one it names.
        metadata.pop("namespace", None)
        return
    wanted, given = call.info.namespace, metadata.get("namespace")
    if given and given != wanted:
        raise errors.BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = wanted


def check_name(call: Call, new: Object) -> None:
    name, given = call.info.name, new["metadata"].get("name") or ""
    if not given:
        raise name_undeterminable(name)
    if given != name:
        raise errors.BadRequest(f"the name of the object ({given}) does not match the name on the URL ({name})")


def name_undeterminable(name: str) -> errors.BadRequest:
    return errors.BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


async def read_delete_options(call: Call, endpoint: Endpoint) -> Object | None:
    """The DeleteOptions in the body, if there is one."""
    body = await call.request.body(endpoint.limits.body_bytes)
    if not body:
        return None
    options = decode_options(body, media_type(call), _OPTIONS)
    if call.audit is not None:
        call.audit.request_object({**options, "kind": _OPTIONS.kind, "apiVersion": _INTERNAL_OPTIONS})
    return options
