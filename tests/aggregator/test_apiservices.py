"""API services: the local ones, and those of servers that are not there."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.server_process import Client, Server

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client("admin", "system:masters") as found:
        yield found


def service(group: str, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{group}"},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10, **spec},
    }


def test_every_group_version_is_registered_and_available(client: Client) -> None:
    items = {item["metadata"]["name"]: item for item in client.get(PATH)["items"]}
    served = {f"{v['version']}.{g['name']}" for g in client.get("/apis")["groups"] for v in g["versions"]}
    assert {"v1.", *served} - {"v1.apiregistration.k8s.io"} <= items.keys()
    assert items["v1.apps"]["status"]["conditions"][0]["reason"] == "Local"


def test_a_service_that_is_not_there_makes_its_group_unavailable(client: Client) -> None:
    client.create(PATH, service("gone.example.com", service={"namespace": "default", "name": "nosuch"}))
    try:
        response = client.send(
            "GET", f"{PATH}?watch=1&fieldSelector=metadata.name%3Dv1.gone.example.com&timeoutSeconds=20"
        )
        for line in response:
            conditions = json.loads(line)["object"].get("status", {}).get("conditions")
            if conditions:
                break
        assert conditions[0]["reason"] == "ServiceNotFound"
    finally:
        client.connection.close()
    assert client.text("/apis/gone.example.com/v1/things") == (503, "service unavailable\n")
    assert client.get("/apis/gone.example.com")["versions"][0]["version"] == "v1"
    client.call("DELETE", f"{PATH}/v1.gone.example.com")
    assert client.text("/apis/gone.example.com/v1/things")[0] == 404


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"groupPriorityMinimum": 20001}, "must be positive and less than 20000"),
        ({"versionPriority": 0}, "must be positive and less than 1000"),
        ({"insecureSkipTLSVerify": True}, "local APIServices may not have insecureSkipTLSVerify"),
        ({"service": {"name": "x"}}, "spec.service.namespace: Required value"),
        ({"service": {"namespace": "d", "name": "x", "port": 70000}}, "must be between 1 and 65535, inclusive"),
        ({"version": "v2"}, 'must be `spec.version+"."+spec.group`: "v2.bad.example.com"'),
    ],
)
def test_what_an_api_service_may_not_say(client: Client, spec: dict[str, object], message: str) -> None:
    status, answer = client.call("POST", PATH, service("bad.example.com", **spec))
    assert status == 422
    assert message in answer["message"]


def test_an_api_services_name_is_part_of_its_metadata(client: Client) -> None:
    body = service("bad.example.com", version="v2")
    body["metadata"]["labels"] = {"a": "not a value!"}
    _, answer = client.call("POST", PATH, body)
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["metadata.name", "metadata.labels"]
