"""Each built-in kind, as small as it may be and with most of its fields: what is sent, and what is stored.

A file of `cases` is one resource: its collection, and cases of `in` and `out` without what differs from run to run.
KAPI_GOLDEN=write writes down what the server answers: read the difference before you keep it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Client, Server

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
NAMESPACE = "golden"
OF_THE_RUN = {"uid", "resourceVersion", "creationTimestamp", "managedFields"}
CHOSEN = {
    *("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "authentication.kubernetes.io/credential-id"),
    *("lastTransitionTime", "lastPhaseTransitionTime", "timeAdded"),
}
# The server writes their status as soon as it sees them.
LOOKED_AFTER = {"APIService", "CustomResourceDefinition", "FlowSchema"}
ADJUSTED = {"EndpointSlice", "Node"}  # at creation: a topology is taken away, a taint added
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=kube-api-access-)[a-z0-9]{5}")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """To a server of its own: some of these objects change how a server answers."""
    server = Server(tmp_path_factory.mktemp("golden"), "--authorization-mode=RBAC")
    try:
        with server.start().client() as client:
            client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            client.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
            yield client
    finally:
        server.end()


def normal(value: Any, key: str = "") -> Any:
    """The object without what this run chose."""
    if key in CHOSEN and value not in ("None", ["None"], "", None):
        return "<chosen>"
    if isinstance(value, dict):
        kept = {
            name: inner for name, inner in value.items() if key != "metadata" or name not in OF_THE_RUN or not inner
        }
        return {name: normal(inner, name) for name, inner in kept.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return UUID.sub("<chosen>", value) if isinstance(value, str) else value


def write(path: Path, golden: dict[str, Any]) -> None:
    cases = ",\n".join(f"{json.dumps(name)}:{compact(case)}" for name, case in golden["cases"].items())
    path.write_text(f'{{"collection":{json.dumps(golden["collection"])},"cases":{{\n{cases}\n}}}}\n')


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_is_sent_is_stored_in_full(client: Client, path: Path) -> None:
    golden = json.loads(path.read_text())
    collection = golden["collection"].replace("NAMESPACE", NAMESPACE)
    for name, case in golden["cases"].items():
        status, made = client.call("POST", f"{collection}?fieldValidation=Strict", case["in"])
        assert status == 201, made
        url = f"{collection}/{made['metadata']['name']}"
        try:
            if os.environ.get("KAPI_GOLDEN") == "write":
                case["out"] = normal(made)
            assert normal(made) == case["out"], name
            assert_a_round_trip(client, url, made)
            assert_the_same_applied(client, url, case)
        finally:
            client.call("PATCH", url, {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
            client.call("DELETE", f"{url}?gracePeriodSeconds=0")
    if os.environ.get("KAPI_GOLDEN") == "write":
        write(path, golden)


def assert_a_round_trip(client: Client, url: str, made: Any) -> None:
    """Read, it is what was answered; sent back as it came, nothing changes: not even its version."""
    if made["kind"] in LOOKED_AFTER:
        return
    assert client.get(url) == made
    status, again = client.call("PUT", url, made)
    assert (status, again) == (200, made)


def assert_the_same_applied(client: Client, url: str, case: Any) -> None:
    """Applied by another owner, what is there already changes nothing but who owns it."""
    if case["out"]["kind"] in LOOKED_AFTER | ADJUSTED:
        return
    kind = "application/apply-patch+yaml"
    status, applied = client.call("PATCH", f"{url}?fieldManager=golden&force=true", case["in"], content_type=kind)
    assert status == 200, applied
    assert normal(applied) == case["out"]


def test_every_kind_that_is_stored_has_its_cases(client: Client) -> None:
    wanted = {f"v1-{name}" for name in stored(client.get("/api/v1"))}
    for group in client.get("/apis")["groups"]:
        version = group["preferredVersion"]["groupVersion"]
        wanted |= {f"{version.replace('/', '-')}-{name}" for name in stored(client.get(f"/apis/{version}"))}
    assert wanted <= {path.stem for path in CASES}


def stored(resources: Any) -> Iterator[str]:
    for resource in resources["resources"]:
        if "/" not in resource["name"] and {"create", "get"} <= set(resource["verbs"]):
            yield resource["name"]
