"""A kopf operator for a custom resource of its own: it issues certificates, and tells so in their status."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import kopf
import pytest
from kubernetes import client, config
from kubernetes.client import CoreV1Api, CustomObjectsApi
from kubernetes.watch import Watch

from tests.clients import definitions
from tests.server_process import Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def group(shared_server: Server) -> Iterator[str]:
    name = f"k{uuid.uuid4().hex[:8]}.example.com"
    with shared_server.client() as http:
        http.create(DEFINITIONS, definitions.certificate(name))
        yield name
        http.call("DELETE", f"{DEFINITIONS}/certificates.{name}")


def issuer(group: str, core: CoreV1Api) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)

    @kopf.on.create(group, "v1", "certificates", registry=registry)
    async def issue(spec: Any, body: Any, namespace: str, patch: kopf.Patch, **_: Any) -> None:
        secret = {"metadata": {"name": spec["secretName"]}, "stringData": {"names": ",".join(spec["dnsNames"])}}
        kopf.adopt(secret, owner=body)
        await asyncio.to_thread(core.create_namespaced_secret, namespace, secret)
        patch.status["conditions"] = [{"type": "Ready", "status": "True", "reason": "Issued"}]
        patch.status["revision"] = 1

    @kopf.on.update(group, "v1", "certificates", field="spec.dnsNames", registry=registry)
    async def renew(spec: Any, status: Any, namespace: str, patch: kopf.Patch, new: list[str], **_: Any) -> None:
        change = {"stringData": {"names": ",".join(new)}}
        await asyncio.to_thread(core.patch_namespaced_secret, spec["secretName"], namespace, change)
        patch.status["revision"] = status["revision"] + 1

    @kopf.on.delete(group, "v1", "certificates", registry=registry)
    async def revoke(spec: Any, namespace: str, **_: Any) -> None:
        await asyncio.to_thread(core.delete_namespaced_secret, spec["secretName"], namespace)

    return registry


@pytest.fixture
def quiet() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in ("kopf", "asyncio")}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("quiet")
def test_an_operator_keeps_its_custom_resources(
    shared_server: Server, own_namespace: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(shared_server.kubeconfig()))

    async def run(api: client.ApiClient) -> None:
        ready, stop = asyncio.Event(), asyncio.Event()
        operator = kopf.operator(
            registry=issuer(group, CoreV1Api(api)),
            settings=kopf.OperatorSettings(),
            namespaces=[own_namespace],
            standalone=True,
            ready_flag=ready,
            stop_flag=stop,
        )
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(operator)
            await ready.wait()
            try:
                await asyncio.to_thread(use, CustomObjectsApi(api), CoreV1Api(api), group, own_namespace)
            finally:
                stop.set()

    with config.new_client_from_config(str(shared_server.kubeconfig())) as api:
        asyncio.run(run(api))


def use(api: CustomObjectsApi, core: CoreV1Api, group: str, namespace: str) -> None:
    """What somebody does who wants a certificate."""
    place = (group, "v1", namespace, "certificates")
    spec = {"secretName": "web-tls", "dnsNames": ["a.example.com"], "issuerRef": {"name": "main"}}
    body = {"apiVersion": f"{group}/v1", "kind": "Certificate", "metadata": {"name": "web"}, "spec": spec}
    created = api.create_namespaced_custom_object(*place, body)
    issued = until_revision(api, place, 1)
    assert issued["status"]["conditions"] == [{"type": "Ready", "status": "True", "reason": "Issued"}]
    assert issued["metadata"]["generation"] == created["metadata"]["generation"]
    secret = core.read_namespaced_secret("web-tls", namespace)
    assert secret.metadata.owner_references[0].uid == created["metadata"]["uid"]

    change = {"spec": {"dnsNames": ["a.example.com", "b.example.com"]}}
    api.patch_namespaced_custom_object(*place, "web", change)
    until_revision(api, place, 2)
    assert core.read_namespaced_secret("web-tls", namespace).data != secret.data

    events = Watch().stream(api.list_namespaced_custom_object, *place, timeout_seconds=30)
    assert next(events)["type"] == "ADDED"
    api.delete_namespaced_custom_object(*place, "web")
    assert any(event["type"] == "DELETED" for event in events)
    with pytest.raises(client.ApiException) as gone:
        core.read_namespaced_secret("web-tls", namespace)
    assert gone.value.status == 404


def until_revision(api: CustomObjectsApi, place: tuple[str, str, str, str], revision: int) -> Any:
    """Watch until the operator has come so far."""
    for event in Watch().stream(api.list_namespaced_custom_object, *place, timeout_seconds=30):
        if (event["object"].get("status") or {}).get("revision") == revision:
            return event["object"]
    raise AssertionError(f"revision {revision} never came")
