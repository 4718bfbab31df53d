"""Get and list."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.selectors import FieldSelector
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import PROTOBUF, YAML
from kapi.endpoints.params import InvalidResourceVersion, ListOptions, boolean, first, list_options, revision
from kapi.endpoints.render import SLICE
from kapi.endpoints.respond import respond, respond_in_parts
from kapi.storage.cacher.entry import Entry
from kapi.storage.continuation import Continuation, InvalidToken
from kapi.storage.objects import Query
from kapi.wire.messages import Response


async def get(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call)
    wanted = None
    if call.params:
        if boolean(call, "export"):
            raise errors.BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
        wanted = revision(first(call, "resourceVersion"))
    entry = await endpoint.store.get(call.info.namespace, call.info.name, wanted)
    return await respond(call, 200, endpoint.renderer.object(call, entry, form), form)


async def list_(call: Call, endpoint: Endpoint) -> Response:
    form = endpoint.form(call, listed=True)
    options = list_options(call, endpoint.resource, watch=False)
    listing = await endpoint.store.list(query(call, endpoint, options))
    if form.media_type == PROTOBUF:
        await endpoint.renderer.binary.prepare(listing.entries, form)
    parts = endpoint.renderer.listing(call, listing, form)
    if len(listing.entries) <= SLICE or form.transform or form.media_type == YAML:
        return await respond(call, 200, b"".join(parts), form)
    return respond_in_parts(call, 200, parts, form)


def query(call: Call, endpoint: Endpoint, options: ListOptions) -> Query:
    """Where to look and what to take, from a list's options."""
    scope, rest = narrowed_scope(call, endpoint, options.fields)
    continuation = None
    if options.token:
        try:
            continuation = Continuation.decode(options.token)
        except InvalidToken as error:
            raise errors.BadRequest(f"invalid continue token: {error}") from None
        if options.resource_version not in ("", "0"):
            raise errors.BadRequest("specifying resource version is not allowed when using continue")
    try:
        wanted = revision(options.resource_version)
    except InvalidResourceVersion as error:
        raise errors.BadRequest(f"invalid resource version: {error}") from None
    # As upstream: the cache does not page, so a limit is ignored where any cached state will do.
    limit = 0 if wanted == 0 else max(options.limit, 0)
    return Query(
        scope=scope,
        revision=wanted,
        exact=options.match == "Exact" or (limit > 0 and bool(wanted) and not options.match),
        limit=limit,
        continuation=continuation,
        selects=selects(options, rest),
    )


def narrowed_scope(call: Call, endpoint: Endpoint, fields: FieldSelector) -> tuple[str, FieldSelector]:
    """The narrowest scope that holds everything selected, and what of the field selector is left to check."""
    namespace, name = call.info.namespace, fields.exact("metadata.name")
    if call.info.name:  # only the legacy watch of one object has a name in its path
        if name is not None and name != call.info.name:
            raise errors.BadRequest("fieldSelector metadata.name doesn't match requested name")
        name = call.info.name
    if endpoint.resource.names.namespaced:
        if not namespace:
            namespace = fields.exact("metadata.namespace") or ""
    else:
        namespace = ""
    if name and "/" not in name and name not in (".", "..") and "%" not in name:
        if endpoint.resource.names.namespaced and not namespace:
            return endpoint.store.scope(""), fields
        return endpoint.store.key(namespace, name), fields
    return endpoint.store.scope(namespace), fields


def selects(options: ListOptions, fields: FieldSelector) -> Callable[[Entry], bool] | None:
    labels = options.labels
    if labels and fields:
        match_labels, match_fields = labels.matches, fields.matches
        return lambda entry: match_labels(entry.labels) and match_fields(entry.fields)
    if labels:
        only_labels = labels.matches
        return lambda entry: only_labels(entry.labels)
    if fields:
        only_fields = fields.matches
        return lambda entry: only_fields(entry.fields)
    return None
