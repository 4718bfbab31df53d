"""Failures as responses: a Status body with its code and headers."""

from __future__ import annotations

import orjson

from kapi.api.errors import APIError
from kapi.wire.messages import RawHeaders, Response

_JSON = ("application/json", "application/*", "*/*")


def status_response(error: APIError, accept: str | None = None) -> Response:
    """In the form the client accepts, where that is JSON or YAML; in JSON otherwise."""
    if accept and _prefers_yaml(accept):
        from kapi.codec.yaml_dump import dumps  # few failures are told in YAML

        content_type, body = b"application/yaml", dumps(error.status)
    else:
        content_type, body = b"application/json", orjson.dumps(error.status) + b"\n"
    headers: RawHeaders = [(b"content-type", content_type)]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    return Response(error.code, headers, body)


def _prefers_yaml(accept: str) -> bool:
    for media_range in accept.split(","):
        media_type = media_range.partition(";")[0].strip().lower()
        if media_type in _JSON:
            return False
        if media_type == "application/yaml":
            return True
    return False
