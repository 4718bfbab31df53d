"""Reviews: an object is sent to a webhook, and comes back with an answer in it. As upstream's REST client does it."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.json_syntax import syntax_error
from kapi.wire.client import Answer, CallError, HTTPClient

_HEADERS = ((b"Accept", b"application/json, */*"), (b"Content-Type", b"application/json"))

# What client-go makes of an answer that is no Status.
_BY_CODE = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_IN_ITS_OWN_WORDS = frozenset({403, 406, 415})


class ReviewError(Exception):
    """The review did not come back. `code` is the HTTP status, or 0 when there was none.

    `retry_after` is the number of seconds after which the other server wants to be asked again, if it said so.
    """

    def __init__(self, message: str, code: int = 0, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


async def send_review(
    client: HTTPClient, path: str, review: Object, *, timeout: float, user_agent: bytes, accepted: Iterable[str] = ()
) -> Object:
    """The review as it came back, in the version in which it was sent or one of the others accepted.

    Raises ReviewError.
    """
    headers = (*_HEADERS, (b"User-Agent", user_agent))
    try:
        answer = await client.request("POST", path, orjson.dumps(review), headers=headers, timeout=timeout)
    except CallError as error:
        raise ReviewError(str(error)) from None
    if not 200 <= answer.status <= 206:
        later = answer.headers.get("retry-after") or ""
        seconds = int(later) if later.isdecimal() and len(later) < 6 else None
        raise ReviewError(_refusal(answer), answer.status, seconds)
    returned = _parsed(answer.body)
    _recognise(returned, review["apiVersion"], review["kind"], frozenset(accepted))
    return returned


def _parsed(body: bytes) -> Object:
    try:
        value = json.loads(body)
    except ValueError as error:
        problem = syntax_error(body) or str(error)
        raise ReviewError(f"couldn't get version/kind; json parse error: {problem}") from None
    if not isinstance(value, dict):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        raise ReviewError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go value of type "
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    return value


def _recognise(returned: Object, version: str, kind: str, accepted: frozenset[str]) -> None:
    actual_version, actual_kind = returned.get("apiVersion") or "", returned.get("kind") or ""
    for field, value in (("Kind", actual_kind), ("apiVersion", actual_version)):
        if not value:
            raise ReviewError(f"Object '{field}' is missing in '{orjson.dumps(returned).decode()}'")
    if actual_kind != kind or actual_version.partition("/")[0] != version.partition("/")[0]:
        raise ReviewError(f'no kind "{actual_kind}" is registered for version "{actual_version}" in scheme "webhook"')
    if actual_version != version and actual_version not in accepted:
        short, wanted = (text.rpartition("/")[2] for text in (actual_version, version))
        raise ReviewError(f"converting ({short}.{kind}) to ({wanted}.{kind}): unknown conversion")


def _refusal(answer: Answer) -> str:
    """As client-go: the message of a Status; else what the code means."""
    try:
        status = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    content_type = answer.headers.get("content-type") or ""
    text = not content_type or content_type.startswith("text/")
    words = answer.body.decode("utf-8", "replace").strip() if text else "unknown"
    if answer.status in _IN_ITS_OWN_WORDS:
        return words
    if answer.status in _BY_CODE:
        return _BY_CODE[answer.status]
    if answer.status >= 500:
        return f"an error on the server ({go_quote(words)}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"
