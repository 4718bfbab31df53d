"""Resources that are not stored: reviews and statuses, computed for each request."""

from __future__ import annotations

import orjson

from kapi.api.call import Call
from kapi.api.errors import MethodNotAllowed
from kapi.api.objects import Object
from kapi.endpoints.bodies import check_namespace, read_object
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import Form, negotiate
from kapi.endpoints.params import list_options, write_options
from kapi.endpoints.render import include_object
from kapi.endpoints.respond import respond
from kapi.endpoints.subresources import act, respond_plainly
from kapi.endpoints.writing import SYSTEM_FIELDS, target_of, track
from kapi.registry.resource import Create, Virtual
from kapi.wire.messages import Response


async def virtual(call: Call, endpoint: Endpoint, verb: str, resource: Virtual) -> Response:
    if verb == "create" and resource.action is not None:
        return await act(call, endpoint, resource.action)
    if verb == "create" and resource.create is not None:
        form = negotiate(call.request.headers.get("accept"), tables=False)
        return await respond_plainly(call, await _created(call, endpoint, resource.create), form)
    form = negotiate(call.request.headers.get("accept"))
    plain = Form(form.media_type)
    if verb == "get" and resource.get is not None:
        found = await resource.get(call, call.info.name)
        shown = _table(call, endpoint, [found], form) if form.transform == "Table" else found
        return await respond(call, 200, orjson.dumps(shown), plain)
    if verb == "list" and resource.list is not None:
        list_options(call, endpoint.resource, watch=False)
        found = await resource.list(call)
        shown = _table(call, endpoint, found["items"], form) if form.transform == "Table" else found
        return await respond(call, 200, orjson.dumps(shown), plain)
    raise MethodNotAllowed


async def _created(call: Call, endpoint: Endpoint, create: Create) -> Object:
    options = write_options(call, "CreateOptions")
    new = await read_object(call, endpoint, options)
    # As upstream: what only the server may say is taken away first, and a namespace where there is none.
    for field in SYSTEM_FIELDS if endpoint.resource.names.namespaced else (*SYSTEM_FIELDS, "namespace"):
        new["metadata"].pop(field, None)
    check_namespace(call, endpoint, new)
    track(call, endpoint, None, new, options)
    store = endpoint.store
    await store.admit(store.attributes(call, "CREATE", target_of(call), new, None, options))
    return await create(call, new, options)


def _table(call: Call, endpoint: Endpoint, items: list[Object], form: Form) -> Object:
    include = include_object(call)
    columns = endpoint.resource.columns

    def shown(item: Object) -> Object | None:
        if include == "Metadata":
            head = {"kind": "PartialObjectMetadata", "apiVersion": form.api_version}
            return {**head, "metadata": item["metadata"]}
        return item if include == "Object" else None

    return {
        "kind": "Table",
        "apiVersion": form.api_version,
        "metadata": {},
        "columnDefinitions": endpoint.renderer.column_definitions,
        "rows": [{"cells": [c.value(item) for c in columns], "object": shown(item)} for item in items],
    }
