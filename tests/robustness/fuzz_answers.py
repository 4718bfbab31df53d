"""What is wrong with an answer to a random request, if anything."""

from __future__ import annotations

import json
from typing import Any

from tests.robustness.fuzz import Attempt
from tests.server_process import Client

SECONDS = 30.0
# Server errors that a real kube-apiserver answers as well, most of them seen in recordings of one.
EXPECTED = {
    500: (
        "failed to create typed live object",
        "failed to create typed patch object",
        "failed to convert new object",
        "resource name may not be empty",
        "invalid resource name",
        "strconv.ParseUint: parsing",
        "resourceVersion should not be set on objects to be created",
        "unknown patch type:",
        "unable to find api field in struct",
        "list element types are not identical",
        ", but received a ",
        "merging an object in json but data type is not struct",
        "doesn't match $setElementOrder list",
        "does not contain declared merge key",
        "target.name: ",
        "target.kind: ",
        "no preferred addresses found",
        "failed to allocate requested HealthCheck NodePort",
        "unable to determine kind and namespace from url",
    ),
    503: ("no endpoints available for service", "no service port", "service unavailable"),
    504: ("Too large resource version",),
}


def answer(client: Client, attempt: Attempt, *, whole: bool = True) -> tuple[int, bytes]:
    """Of a watch only what tells about an error."""
    client.connection.request(attempt.method, attempt.url, attempt.body, attempt.headers)
    response = client.connection.getresponse()
    if whole or response.status >= 400:
        return response.status, response.read()
    client.connection.close()
    return response.status, b""


def problem(attempt: Attempt, status: int, body: bytes, seconds: float) -> str:
    """Empty when nothing is."""
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if status >= 500 and not any(text in body.decode(errors="replace") for text in plainly(EXPECTED.get(status, ()))):
        return f"answered {status}: {body[:500]!r}"
    if status >= 400 and body and attempt.headers["accept"] == "application/json" and not told(status, body):
        return f"answered {status} without a Status: {body[:300]!r}"
    return ""


def plainly(texts: tuple[str, ...]) -> list[str]:
    """As they are, and as YAML in quotes has them."""
    return [*texts, *(text.replace("'", "''") for text in texts)]


def told(status: int, body: bytes) -> bool:
    try:
        answered: Any = json.loads(body)
    except ValueError:
        return False
    return bool(answered.get("kind") == "Status" and answered.get("code") == status and answered.get("message"))
