"""Patches that are refused, each in the words of the part of upstream that refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server_process import Client, Server

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def deployment(shared_server: Server) -> Iterator[tuple[Client, str]]:
    labels = {"app": "patched"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "patched"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    with shared_server.client() as client:
        client.create(DEPLOYMENTS, body)
        yield client, f"{DEPLOYMENTS}/patched"
        client.call("DELETE", f"{DEPLOYMENTS}/patched")


def test_a_strategic_merge_patch_of_bad_form_is_a_bad_request(deployment: tuple[Client, str]) -> None:
    client, path = deployment
    patch = {"spec": {"strategy": {"$retainKeys": ["other"], "type": "Recreate"}}}
    status, answer = client.call("PATCH", path, patch, content_type=STRATEGIC)
    assert (status, answer["reason"], answer["message"]) == (400, "BadRequest", "invalid patch format of retainKeys")


def applied(deployment: tuple[Client, str], **changes: Any) -> tuple[int, Any]:
    client, path = deployment
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "patched"}, **changes}
    return client.call("PATCH", f"{path}?fieldManager=m&dryRun=All&force=true", config, content_type=APPLY)


def test_what_is_applied_is_converted_not_read(deployment: tuple[Client, str]) -> None:
    status, answer = applied(deployment, spec={"minReadySeconds": 1.5})
    assert status == 500
    assert answer["message"] == (
        "failed to convert new object (/patched; apps/v1, Kind=Deployment) to proper version: "
        "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32"
    )
    status, answer = applied(deployment, spec={"strategy": {"rollingUpdate": {"maxSurge": 1.5}}})
    assert answer["message"].endswith(": json: cannot unmarshal number 1.5 into Go value of type int32")
    status, answer = applied(deployment, spec={"minReadySeconds": (1 << 32) + 7})
    assert (status, answer["spec"]["minReadySeconds"]) == (200, 7), "what does not fit is cut off"


def test_a_kind_that_is_no_text_is_none(deployment: tuple[Client, str]) -> None:
    status, answer = applied(deployment, kind=["Deployment"])
    assert (status, answer["message"]) == (400, "invalid object type: apps/v1, Kind=")
