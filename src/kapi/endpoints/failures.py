"""Failures, written in the form that the client accepts."""

from __future__ import annotations

import orjson

from kapi.api.call import Call
from kapi.api.errors import APIError, NotAcceptable
from kapi.codec.status import status_response
from kapi.endpoints.negotiate import YAML, negotiate
from kapi.wire.messages import Response


def failure(call: Call, error: APIError) -> Response:
    """A Status: YAML for those who ask for it; indented where upstream falls back to raw JSON."""
    response = status_response(error)
    accept = call.request.headers.get("accept")
    if not accept or accept == "application/json":
        return response
    try:
        form = negotiate(accept)
    except NotAcceptable:
        form = None
    if form is not None and form.media_type == YAML and not form.transform:
        from kapi.codec import yaml  # loaded with the first YAML answer

        response.headers[0] = (b"content-type", b"application/yaml")
        response.body = yaml.dumps(error.status)
    elif form is None or form.transform:
        response.body = orjson.dumps(error.status, option=orjson.OPT_INDENT_2)
    return response
