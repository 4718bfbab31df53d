"""Failures as responses: a Status body with its code and headers."""

from __future__ import annotations

import orjson

from kapi.api.errors import APIError
from kapi.wire.messages import RawHeaders, Response


def status_response(error: APIError) -> Response:
    headers: RawHeaders = [(b"content-type", b"application/json")]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    return Response(error.code, headers, orjson.dumps(error.status) + b"\n")
