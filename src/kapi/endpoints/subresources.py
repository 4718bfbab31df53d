"""Subresources that are not the object itself: views of it (scale) and actions on it (binding, eviction)."""

from __future__ import annotations

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.gvk import GroupKind, GroupVersionKind
from kapi.api.objects import Object
from kapi.codec.decode import decode_object
from kapi.endpoints.bodies import check_name, check_namespace, media_type
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import Form, negotiate
from kapi.endpoints.params import write_options
from kapi.endpoints.patching import CONTENT_TYPES, Patching, patch_type
from kapi.endpoints.render import include_object
from kapi.endpoints.respond import respond
from kapi.endpoints.writing import manager_of, target_of
from kapi.patch.apply.scale import ReplicasPaths, to_parent, to_scale
from kapi.patch.apply.update import track_update
from kapi.patch.values import copied
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Action, Connect, Resource, View
from kapi.registry.store import Transform, check_uid
from kapi.schema.loader import type_of
from kapi.wire.messages import Response

_NO_SCALE = (
    'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
    'customresource_handler.go:781"'
)


async def act(call: Call, endpoint: Endpoint, action: Action) -> Response:
    form = negotiate(call.request.headers.get("accept"), tables=False)
    options = write_options(call, "CreateOptions")
    kind = media_type(call)
    body = await call.request.body(endpoint.limits.body_bytes)
    decoded = decode_object(body, kind, action.gvk, options.field_validation, or_versions=action.or_versions)
    for warning in decoded.warnings:
        call.warn(warning)
    given = decoded.object
    if not isinstance(given.get("metadata"), dict):
        given["metadata"] = {}
    check_namespace(call, endpoint, given)
    if action.default is not None:
        action.default(given)
    if call.audit is not None:
        call.audit.request_object(given)
    track_update(
        None,
        given,
        type_of(*action.gvk),
        manager=manager_of(call, options),
        api_version=str(action.gvk.group_version),
        now=rfc3339(endpoint.store.clock.now()),
        subresource=call.info.subresource,
    )
    store, target = endpoint.store, target_of(call)
    await store.admit(store.attributes(call, "CREATE", target, given, None, options, kind=action.gvk))
    result = await action.run(call, store, target, given, options)
    return await respond_plainly(call, result, form)


async def respond_plainly(call: Call, made: Object, form: Form) -> Response:
    """What a request made, which is not stored and has no columns: whole, or just its metadata."""
    if form.transform == "PartialObjectMetadata" and made["kind"] != "Status":
        partial = {"kind": form.transform, "apiVersion": form.api_version, "metadata": made["metadata"]}
        return await respond(call, 201, orjson.dumps(partial), form)
    return await respond(call, 201, orjson.dumps(made), _plain(form))


async def connect(call: Call, endpoint: Endpoint, to: Connect) -> Response:
    store, target = endpoint.store, target_of(call)
    if to.options is not None:
        if "dryRun" in call.params:
            raise errors.BadRequest("dryRun is not supported")
        options = to.options(call)
        kind = GroupVersionKind("", "v1", options["kind"])
        await store.admit(store.attributes(call, "CONNECT", target, options, None, WriteOptions(), kind=kind))
    return await to.run(call, store, target)


async def view_get(call: Call, endpoint: Endpoint, view: View) -> Response:
    form = endpoint.form(call)
    entry = await endpoint.store.get(call.info.namespace, call.info.name)
    if view.check_get is not None:
        view.check_get(entry.object)
    return await _respond(call, endpoint, view, view.read(entry.object), form)


async def view_update(call: Call, endpoint: Endpoint, view: View) -> Response:
    form = endpoint.form(call)
    options = write_options(call, "UpdateOptions")
    kind = media_type(call)
    body = await call.request.body(endpoint.limits.body_bytes)
    given = _decoded_view(call, endpoint, view, body, kind, options)

    async def transform(live: Object | None) -> Object:
        assert live is not None, "a view does not create"
        shown = copied(given)
        check_uid(endpoint.resource, endpoint.store.shown_key(target_of(call), options), shown, live)
        _validate(call, view, shown)
        _track(call, endpoint, view, _read(endpoint, view, live), shown, options)
        return _written(endpoint, view, live, shown)

    return await _store(call, endpoint, view, transform, options, form)


def _decoded_view(call: Call, endpoint: Endpoint, view: View, body: bytes, kind: str, options: WriteOptions) -> Object:
    """What a body says of a view: where it is and what it is called are those of the path."""
    try:
        decoded = decode_object(body, kind, view.gvk, options.field_validation)
    except errors.BadRequest:
        if endpoint.resource.untyped is None:
            raise
        # As upstream, whose scheme for custom resources cannot word the failure.
        raise errors.BadRequest(_NO_SCALE) from None
    for warning in decoded.warnings:
        call.warn(warning)
    shown = decoded.object
    if call.audit is not None:
        call.audit.request_object(shown)
    if not isinstance(shown.get("metadata"), dict):
        shown["metadata"] = {}
    check_namespace(call, endpoint, shown)
    check_name(call, shown)
    return shown


async def view_patch(call: Call, endpoint: Endpoint, view: View) -> Response:
    kind = patch_type(call, is_custom=endpoint.resource.untyped is not None)
    form = endpoint.form(call)
    applies = kind == CONTENT_TYPES["apply"]
    options = write_options(call, "PatchOptions", apply=applies)
    body = await call.request.body(endpoint.limits.body_bytes)
    patching = Patching(call, _shown(endpoint, view), kind, body, options)

    async def transform(live: Object | None) -> Object:
        assert live is not None, "a view does not create"
        shown = _read(endpoint, view, live)
        new = patching.applied(shown) if applies else patching.patched(shown)
        if not isinstance(new.get("metadata"), dict):
            new["metadata"] = {}
        check_name(call, new)
        check_namespace(call, endpoint, new)
        _validate(call, view, new)
        if not applies:
            _track(call, endpoint, view, shown, new, options)
        return _written(endpoint, view, live, new)

    return await _store(call, endpoint, view, transform, options, form)


def _shown(endpoint: Endpoint, view: View) -> Endpoint:
    """An endpoint whose objects are what the view shows: for patches of that kind."""
    resource = Resource(
        group=view.gvk.group,
        version=view.gvk.version,
        kind=view.gvk.kind,
        given_names=endpoint.resource.names,
        subresources=endpoint.resource.subresources,
        given_schema=lambda: type_of(*view.gvk),
    )
    return Endpoint(resource=resource, store=endpoint.store, renderer=endpoint.renderer, limits=endpoint.limits)


def _owners(endpoint: Endpoint, view: View) -> ReplicasPaths:
    return {str(endpoint.resource.group_version): view.replicas_path}


def _read(endpoint: Endpoint, view: View, live: Object) -> Object:
    """What the view shows, and who owns what is shown: writes need that, answers leave it out."""
    shown = view.read(live)
    managers = to_scale(live, _owners(endpoint, view)) if view.replicas_path else []
    if managers:
        shown["metadata"]["managedFields"] = managers
    return shown


def _validate(call: Call, view: View, shown: Object) -> None:
    found = view.validate(shown) if view.validate is not None else []
    if found:
        raise errors.Invalid(GroupKind(view.gvk.group, view.gvk.kind), call.info.name, found)


def _track(call: Call, endpoint: Endpoint, view: View, former: Object, shown: Object, options: WriteOptions) -> None:
    """Keep the managedFields of what is shown."""
    track_update(
        former,
        shown,
        type_of(*view.gvk),
        manager=manager_of(call, options),
        api_version=str(view.gvk.group_version),
        now=rfc3339(endpoint.store.clock.now()),
        subresource=call.info.subresource,
    )


def _written(endpoint: Endpoint, view: View, live: Object, shown: Object) -> Object:
    """The object with what the view says written into it."""
    new: Object = orjson.loads(orjson.dumps(live))
    view.write(new, shown)
    metadata = new["metadata"]
    for field in ("resourceVersion", "uid"):
        given = shown["metadata"].get(field)
        if given:
            metadata[field] = given
        elif field == "resourceVersion":
            metadata.pop(field, None)
    if view.replicas_path:
        api_version = str(endpoint.resource.group_version)
        metadata["managedFields"] = to_parent(live, shown, api_version, _owners(endpoint, view))
    return new


async def _store(
    call: Call, endpoint: Endpoint, view: View, transform: Transform, options: WriteOptions, form: Form
) -> Response:
    strategy = endpoint.resource.subresources[call.info.subresource].strategy
    entry, _ = await endpoint.store.update(call, target_of(call), transform, options, strategy=strategy)
    return await _respond(call, endpoint, view, view.read(entry.object), form)


async def _respond(call: Call, endpoint: Endpoint, view: View, shown: Object, form: Form) -> Response:
    partial = {"kind": "PartialObjectMetadata", "apiVersion": form.api_version, "metadata": shown["metadata"]}
    answer = shown
    if form.transform == "PartialObjectMetadata":
        answer = partial
    elif form.transform == "Table" and view.columns:
        include, now = include_object(call), endpoint.store.clock.now()
        values = [(column, column.value(shown)) for column in view.columns]
        answer = {
            "kind": "Table",
            "apiVersion": form.api_version,
            "metadata": {"resourceVersion": shown["metadata"].get("resourceVersion", "")},
            "columnDefinitions": [column.definition for column in view.columns],
            "rows": [
                {
                    "cells": [v if column.show is None else column.show(v, now) for column, v in values],
                    "object": {"None": None, "Metadata": partial, "Object": shown}[include],
                }
            ],
        }
    return await respond(call, 200, orjson.dumps(answer), form if answer is not shown else _plain(form))


def _plain(form: Form) -> Form:
    return form._replace(transform="", version="")
