"""Applied configurations that fit no type: told of as a failure of the conversion, in the converter's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server_process import Client, Server

APPLY = {"content_type": "application/apply-patch+yaml"}
NAMESPACE = "/api/v1/namespaces/default"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client() as client:
        yield client


def applied(client: Client, plural: str, kind: str, **fields: Any) -> tuple[int, str]:
    config = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "unfit"}, **fields}
    path = f"{NAMESPACE}/{plural}/unfit?fieldManager=m&dryRun=All"
    status, answer = client.call("PATCH", path, config, **APPLY)
    return status, answer.get("message", "")


@pytest.mark.parametrize(
    ("plural", "kind", "fields", "why"),
    [
        (
            "secrets",
            "Secret",
            {"data": {"a": "not base64!"}},
            "error decoding from json: illegal base64 data at input byte 3",
        ),
        (
            "services",
            "Service",
            {"spec": {"ports": [{"port": 80, "targetPort": []}]}},
            "json: cannot unmarshal array into Go value of type int32",
        ),
        ("services", "Service", {"spec": {"ports": [{"port": 1.5}]}}, "cannot convert float64 to int32"),
    ],
)
def test_a_configuration_that_cannot_be_converted_is_a_failure(
    client: Client, plural: str, kind: str, fields: Any, why: str
) -> None:
    status, message = applied(client, plural, kind, **fields)
    assert (status, message) == (
        500,
        f"failed to convert new object (/unfit; /v1, Kind={kind}) to proper version: "
        f"unable to convert unstructured object to /v1, Kind={kind}: {why}",
    )


def test_a_time_is_any_scalar_until_it_is_converted(client: Client) -> None:
    status, message = applied(
        client, "services", "Service", status={"conditions": [{"type": "A", "lastTransitionTime": 5}]}
    )
    assert status == 500 and message.endswith("json: cannot unmarshal number into Go value of type string")
    status, message = applied(
        client, "services", "Service", status={"conditions": [{"type": "A", "lastTransitionTime": {}}]}
    )
    assert "expected any scalar" in message
