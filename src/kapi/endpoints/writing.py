"""Create, update, patch and delete."""

from __future__ import annotations

import asyncio

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.objects import Object
from kapi.endpoints.bodies import (
    check_name,
    check_namespace,
    decode_body,
    media_type,
    read_delete_options,
    read_object,
)
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import Form
from kapi.endpoints.params import delete_options, list_options, write_options
from kapi.endpoints.patching import CONTENT_TYPES, Patching, patch_type
from kapi.endpoints.reading import query
from kapi.endpoints.respond import respond
from kapi.patch.apply.update import track_update
from kapi.patch.errors import PatchError
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.store import Target, check_uid
from kapi.registry.strategy import Strategy, copy_field
from kapi.storage.cacher.entry import Entry
from kapi.wire.messages import Response

_LONGEST_MANAGER = 128


def manager_of(call: Call, options: WriteOptions) -> str:
    """Who writes: as the request says, or as its client calls itself."""
    if options.field_manager:
        return options.field_manager
    agent = (call.request.headers.get("user-agent") or "").partition("/")[0]
    return "".join(c for c in agent if c.isprintable())[:_LONGEST_MANAGER] or "unknown"


async def create(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call)
    options = write_options(call, "CreateOptions")
    new = await read_object(call, endpoint, options)
    check_namespace(call, endpoint, new)
    wipe_system_fields(new["metadata"], options)
    stored = tracked(call, endpoint, None, new, options)
    entry = await endpoint.store.create(call, call.info.namespace, stored, options)
    return await respond(call, 201, endpoint.renderer.object(call, entry, form), form)


class VersionOfTheUnborn(errors.APIError):
    """A create that names a version: as upstream, a 500 without a reason."""

    def __init__(self) -> None:
        super().__init__("resourceVersion should not be set on objects to be created")


SYSTEM_FIELDS = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def wipe_system_fields(metadata: Object, options: WriteOptions) -> None:
    """What only the server sets is not the client's to own: as rest.WipeObjectMetaSystemFields."""
    for field in SYSTEM_FIELDS:
        metadata.pop(field, None)
    version = metadata.pop("resourceVersion", "")
    # As upstream: it is the store that refuses a version, and dry runs do not come to it.
    if version.isdecimal() and int(version) and not options.dry_run:
        raise VersionOfTheUnborn


def track(call: Call, endpoint: Endpoint, live: Object | None, new: Object, options: WriteOptions) -> None:
    """Keep the object's managedFields."""
    resource = endpoint.resource
    try:
        track_update(
            live,
            new,
            resource.schema,
            manager=manager_of(call, options),
            api_version=str(resource.group_version),
            now=rfc3339(endpoint.store.clock.now()),
            subresource=call.info.subresource,
            reset=strategy_of(call, endpoint).reset,
            convert=resource.convert,
        )
    except PatchError:
        # As upstream: a write does not fail for want of a conversion, its managers just stay as they were.
        copy_field(new["metadata"], (live or {"metadata": {}})["metadata"], "managedFields")


def tracked(call: Call, endpoint: Endpoint, live: Object | None, new: Object, options: WriteOptions) -> Object:
    """The stored form of an object, which decides what of it is kept and so what its writer owns."""
    stored = endpoint.to_stored(new)
    shown = endpoint.from_stored(stored)
    track(call, endpoint, live, shown, options)
    copy_field(stored["metadata"], shown["metadata"], "managedFields")
    return stored


def strategy_of(call: Call, endpoint: Endpoint) -> Strategy:
    """The rules of the endpoint that was called: the resource's, or its subresource's."""
    subresource = call.info.subresource
    return endpoint.resource.subresources[subresource].strategy if subresource else endpoint.resource.strategy


def target_of(call: Call) -> Target:
    info = call.info
    return Target(namespace=info.namespace, name=info.name, subresource=info.subresource)


async def update(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call)
    options = write_options(call, "UpdateOptions")
    kind = media_type(call)
    body = await call.request.body(endpoint.limits.body_bytes)

    def decode() -> Object:
        new = decode_body(call, endpoint, body, kind, options)
        check_namespace(call, endpoint, new)
        check_name(call, new)
        return new

    # What the body alone decides is refused before the object is looked for; a second try needs a fresh object.
    decoded = [decode()]

    async def transform(live: Object | None) -> Object:
        new = decoded.pop() if decoded else decode()
        check_uid(endpoint.resource, endpoint.store.shown_key(target_of(call), options), new, live)
        return tracked(call, endpoint, live and endpoint.from_stored(live), new, options)

    strategy = strategy_of(call, endpoint)
    entry, created = await endpoint.store.update(
        call,
        target_of(call),
        transform,
        options,
        strategy=strategy,
        create=strategy.create_on_update and not call.info.subresource,
    )
    return await respond(call, 201 if created else 200, endpoint.renderer.object(call, entry, form), form)


async def patch(call: Call, endpoint: Endpoint) -> Response:
    kind = patch_type(call, is_custom=endpoint.resource.untyped is not None)
    form = endpoint.form(call)
    applies = kind == CONTENT_TYPES["apply"]
    options = write_options(call, "PatchOptions", apply=applies)
    body = await call.request.body(endpoint.limits.body_bytes)
    patching = Patching(call, endpoint, kind, body, options)

    async def transform(live: Object | None) -> Object:
        shown = live and endpoint.from_stored(live)
        new = patching.applied(shown) if applies else patching.patched(shown)
        check_name(call, new)
        check_namespace(call, endpoint, new)
        return endpoint.to_stored(new) if applies else tracked(call, endpoint, shown, new, options)

    entry, created = await endpoint.store.update(
        call,
        target_of(call),
        transform,
        options,
        strategy=strategy_of(call, endpoint),
        create=applies and not call.info.subresource,
    )
    return await respond(call, 201 if created else 200, endpoint.renderer.object(call, entry, form), form)


async def delete(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call)
    options = delete_options(call, await read_delete_options(call, endpoint))
    if options.ignore_read_errors:
        return await _discard(call, endpoint, options, form)
    _warn_of_orphans(call, endpoint, options)
    entry, gone = await endpoint.store.delete(call, target_of(call), options)
    if gone and not endpoint.resource.returns_deleted:
        return await respond(call, 200, _success(endpoint, entry), form._replace(transform="", version=""))
    # As upstream: accepted, but dependents come first.
    status = 202 if not gone and options.orphan_dependents is False else 200
    return await respond(call, status, endpoint.renderer.object(call, entry, form), form)


async def _discard(call: Call, endpoint: Endpoint, options: DeleteOptions, form: Form) -> Response:
    call.annotations["apiserver.k8s.io/unsafe-delete-ignore-read-error"] = ""
    await endpoint.store.discard(call, target_of(call), options)
    details = {"name": call.info.name, "kind": endpoint.resource.kind}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
        "code": 200,
    }
    return await respond(call, 200, orjson.dumps(status), form._replace(transform="", version=""))


def _warn_of_orphans(call: Call, endpoint: Endpoint, options: DeleteOptions) -> None:
    if options.propagation_policy is None and options.orphan_dependents is None:
        call.warn(endpoint.resource.strategy.orphan_warning)


def _success(endpoint: Endpoint, entry: Entry) -> bytes:
    metadata = entry.object["metadata"]
    resource = endpoint.resource.group_resource
    details: Object = {"name": metadata["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.resource, "uid": metadata["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return orjson.dumps(status)


async def delete_collection(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call)
    selection = list_options(call, endpoint.resource, watch=False)
    body = await read_delete_options(call, endpoint)
    # Bad options are refused before anything is looked for.
    options = delete_options(call, body)
    _warn_of_orphans(call, endpoint, options)
    listing = await endpoint.store.list(query(call, endpoint, selection))
    pending = list(reversed(listing.entries))

    async def worker() -> None:
        while pending:
            await _delete_one(call, endpoint, pending.pop(), delete_options(call, body))

    workers = min(max(endpoint.limits.delete_workers, 1), len(pending))
    await asyncio.gather(*(worker() for _ in range(workers)))
    parts = endpoint.renderer.listing(call, listing, form)
    return await respond(call, 200, b"".join(parts), form)


async def _delete_one(call: Call, endpoint: Endpoint, entry: Entry, options: DeleteOptions) -> None:
    metadata = entry.object["metadata"]
    target = Target(namespace=metadata.get("namespace", ""), name=metadata["name"])
    try:
        await endpoint.store.delete(call, target, options)
    except errors.NotFound:
        # Someone else was faster: what was asked for is done.
        return
