"""Failures, written in the form that the client accepts."""

from __future__ import annotations

import orjson

from kapi.api.call import Call
from kapi.api.errors import APIError, NotAcceptable
from kapi.codec.status import status_response
from kapi.endpoints.negotiate import negotiate
from kapi.wire.messages import Response


def failure(call: Call, error: APIError) -> Response:
    """A Status: YAML for those who ask for it; indented where upstream falls back to raw JSON."""
    accept = call.request.headers.get("accept")
    response = status_response(error, accept)
    if not accept or accept == "application/json":
        return response
    try:
        negotiate(accept, transforming=False)
    except NotAcceptable:
        if response.headers[0][1] == b"application/json":
            response.body = orjson.dumps(error.status, option=orjson.OPT_INDENT_2)
    return response
