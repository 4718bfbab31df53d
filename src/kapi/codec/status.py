"""Failures as responses: a Status body with its code and headers."""

from __future__ import annotations

import orjson

from kapi.api.errors import APIError
from kapi.wire.messages import RawHeaders, Response

_JSON, _YAML, _PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_FORMS = {_JSON: _JSON, "application/*": _JSON, "*/*": _JSON, _YAML: _YAML, _PROTOBUF: _PROTOBUF}


def status_response(error: APIError, accept: str | None = None) -> Response:
    """In the form the client accepts; when it accepts none, in JSON that is indented as upstream's raw JSON is."""
    form = _preferred(accept) if accept and accept != _JSON else _JSON
    if form == _YAML:
        from kapi.codec.yaml_dump import dumps  # few failures are told in YAML

        body = dumps(error.status)
    elif form == _PROTOBUF:
        from kapi.codec.protobuf import encode_object  # nor in protobuf

        body = encode_object(error.status)
    elif form == _JSON:
        body = orjson.dumps(error.status) + b"\n"
    else:
        body = orjson.dumps(error.status, option=orjson.OPT_INDENT_2)
    headers: RawHeaders = [(b"content-type", (form or _JSON).encode())]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    return Response(error.code, headers, body)


def _preferred(accept: str) -> str | None:
    """The first form that is accepted as it is, best quality first: a Status is no table."""
    found: list[tuple[float, str]] = []
    for clause in accept.split(","):
        media_type, *given = (part.strip() for part in clause.split(";"))
        params = dict(part.partition("=")[::2] for part in given)
        form = _FORMS.get(media_type.lower())
        if form is not None and not params.keys() & {"as", "g", "v"}:
            found.append((_quality(params), form))
    return max(found, key=lambda one: one[0])[1] if found else None


def _quality(params: dict[str, str]) -> float:
    try:
        return float(params.get("q", "1"))
    except ValueError:
        return 1.0
