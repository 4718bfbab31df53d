"""Failures, written in the form that the client accepts."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.errors import APIError
from kapi.codec.status import status_response
from kapi.wire.messages import Response


def failure(call: Call, error: APIError) -> Response:
    return status_response(error, call.request.headers.get("accept"))
