"""Admission as Python functions: loaded by a flag, asked in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Client, Server

MODULE = '''
from kapi.admission.functions import Attributes, Deny, Patch, admission


@admission("CREATE", "UPDATE", resources=["configmaps"])
def needs_an_owner(attributes: Attributes) -> Deny | None:
    """Judges what all others have made of the object."""
    if "owner" not in (attributes.object["metadata"].get("labels") or {}):
        return Deny("every ConfigMap needs the label owner")
    return None


@admission("CREATE", resources=["configmaps"])
def gives_an_owner(attributes: Attributes) -> Patch | None:
    labels = {"owner": attributes.call.user.name}
    bare = attributes.object["metadata"]["name"] == "bare"
    return None if bare else Patch.merge({"metadata": {"labels": labels}})


@admission("CREATE", resources=["deployments.apps"])
async def starts_small(attributes: Attributes) -> Patch:
    return Patch([{"op": "replace", "path": "/spec/replicas", "value": 1}])


@admission("DELETE", resources=["secrets"])
def keeps_secrets(attributes: Attributes) -> Deny:
    return Deny("secrets are kept", code=409, reason="Conflict")


@admission("CREATE", resources=["secrets"])
def breaks_secrets(attributes: Attributes) -> Patch | None:
    if attributes.object["metadata"]["name"] == "odd":
        return Patch([{"op": "remove", "path": "/nosuch"}])
    if attributes.object["metadata"]["name"] == "typed":
        return Patch.merge({"data": 7})
    if attributes.object["metadata"]["name"] == "no":
        return 7
    return None
'''


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("functions")
    (folder / "house_rules.py").write_text(MODULE)
    flags = ("--admission-plugin-module", "house_rules", "--disable-admission-plugins", "ServiceAccount")
    server = Server(folder, *flags, environment={"PYTHONPATH": str(folder)})
    try:
        server.start()
        with server.client() as client:
            yield client
    finally:
        server.end()


def create(client: Client, plural: str, name: str, group: str = "/api/v1", **content: Any) -> tuple[int, Any]:
    kind = {"configmaps": "ConfigMap", "secrets": "Secret", "deployments": "Deployment"}[plural]
    version = group.removeprefix("/apis/").removeprefix("/api/")
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}
    return client.call("POST", f"{group}/namespaces/default/{plural}", body)


def test_a_function_changes_what_another_one_judges(client: Client) -> None:
    status, made = create(client, "configmaps", "a")
    assert (status, made["metadata"]["labels"]) == (201, {"owner": "admin"})
    status, refusal = create(client, "configmaps", "bare")
    assert (status, refusal["reason"]) == (403, "Forbidden")
    assert refusal["message"] == (
        'admission function "house_rules.needs_an_owner" denied the request: every ConfigMap needs the label owner'
    )


def test_a_function_may_wait(client: Client) -> None:
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": pod}
    status, made = create(client, "deployments", "d", "/apis/apps/v1", spec=spec)
    assert (status, made["spec"]["replicas"]) == (201, 1)


def test_a_refusal_has_the_code_that_the_function_gives_it(client: Client) -> None:
    assert create(client, "secrets", "kept")[0] == 201
    status, refusal = client.call("DELETE", "/api/v1/namespaces/default/secrets/kept")
    assert (status, refusal["reason"]) == (409, "Conflict")
    assert client.get("/api/v1/namespaces/default/secrets/kept")["metadata"]["name"] == "kept"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("odd", "the patch of admission function house_rules.breaks_secrets does not apply: error in remove"),
        ("typed", "json: cannot unmarshal number into Go struct field Secret.data"),
        ("no", "admission function house_rules.breaks_secrets returned 7, not None, a Patch or a Deny"),
    ],
)
def test_what_a_function_does_wrong_is_told(client: Client, name: str, problem: str) -> None:
    status, refusal = create(client, "secrets", name)
    assert status == 500 and problem in refusal["message"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot load house_rules: No module named 'house_rules'"),
        ("x = 1", "house_rules has no function that is marked with @admission"),
    ],
)
def test_a_module_without_functions_stops_the_start(
    tmp_path: Path, new_server: Callable[..., Server], content: str | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / "house_rules.py").write_text(content)
    server = new_server("--admission-plugin-module", "house_rules", environment={"PYTHONPATH": str(tmp_path)}).launch()
    assert server.exit_status() == 1
    assert problem in server.said


def test_an_installed_package_brings_functions_by_an_entry_point(
    tmp_path: Path, new_server: Callable[..., Server]
) -> None:
    (tmp_path / "house_rules.py").write_text(MODULE)
    metadata = tmp_path / "house_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[kapi.admission]\nowner = house_rules:needs_an_owner\n")
    server = new_server(environment={"PYTHONPATH": str(tmp_path)}).start()
    with server.client() as client:
        assert create(client, "configmaps", "a")[0] == 403
        assert create(client, "secrets", "odd")[0] == 201


def test_the_example_of_the_documentation_works(tmp_path: Path, new_server: Callable[..., Server]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "admission.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "house_rules.py").write_text(example)
    server = new_server("--admission-plugin-module=house_rules", environment={"PYTHONPATH": str(tmp_path)}).start()
    with server.client() as client:
        status, refusal = create(client, "configmaps", "a")
    assert status == 403 and refusal["message"].endswith("everything here needs the label owner")
