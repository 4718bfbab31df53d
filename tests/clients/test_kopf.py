"""A kopf operator that runs against a real server: it fills, keeps and cleans up after ConfigMaps and Deployments."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import kopf
import pytest
from kubernetes import client, config
from kubernetes.client import AppsV1Api, CoreV1Api

from tests.server_process import Server

OURS = {"operator": "tests"}


@dataclass
class Seen:
    """What the handlers were told, in order; waited for from another thread."""

    told: list[tuple[str, str]] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def add(self, what: str, name: str) -> None:
        async with self.changed:
            self.told.append((what, name))
            self.changed.notify_all()

    async def until(self, what: str, name: str) -> None:
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(lambda: (what, name) in self.told)


def operator_of(seen: Seen, apps: AppsV1Api) -> kopf.OperatorRegistry:
    """Its handlers: a ConfigMap becomes a Deployment that it owns; its data decides on the replicas."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)

    @kopf.on.create("configmaps", labels=OURS, registry=registry)
    async def made(name: str, namespace: str, body: Any, **_: Any) -> None:
        deployment = manifest(name)
        kopf.adopt(deployment, owner=body)
        await asyncio.to_thread(apps.create_namespaced_deployment, namespace, deployment)
        await seen.add("made", name)

    @kopf.on.update("configmaps", labels=OURS, field="data.replicas", registry=registry)
    async def changed(name: str, namespace: str, new: str, **_: Any) -> None:
        patch = {"spec": {"replicas": int(new)}}
        await asyncio.to_thread(apps.patch_namespaced_deployment_scale, name, namespace, patch)
        await seen.add("changed", name)

    @kopf.on.delete("configmaps", labels=OURS, registry=registry)
    async def leaving(name: str, namespace: str, **_: Any) -> None:
        await asyncio.to_thread(apps.delete_namespaced_deployment, name, namespace)
        await seen.add("leaving", name)

    @kopf.on.event("configmaps", labels=OURS, registry=registry)
    @kopf.on.event("apps", "v1", "deployments", registry=registry)
    async def event(name: str, type: str | None, resource: kopf.Resource, **_: Any) -> None:
        await seen.add(f"{resource.plural} {type}", name)

    return registry


def manifest(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "main:1"}]},
            },
        },
    }


@pytest.fixture
def operated(
    shared_server: Server, own_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Callable[[Seen, client.ApiClient], Awaitable[None]]], None]]:
    """Runs a coroutine function beside an operator in this test's namespace, and ends both."""
    monkeypatch.setenv("KUBECONFIG", str(shared_server.kubeconfig()))
    levels = {name: logging.getLogger(name).level for name in ("kopf", "asyncio")}

    async def beside(body: Callable[[Seen, client.ApiClient], Awaitable[None]]) -> None:
        seen, ready, stop = Seen(), asyncio.Event(), asyncio.Event()
        with config.new_client_from_config(str(shared_server.kubeconfig())) as api:
            settings = kopf.OperatorSettings()
            settings.posting.level = logging.INFO
            running = kopf.operator(
                registry=operator_of(seen, AppsV1Api(api)),
                settings=settings,
                namespaces=[own_namespace],
                standalone=True,
                ready_flag=ready,
                stop_flag=stop,
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(running)
                async with asyncio.timeout(30):
                    await ready.wait()
                try:
                    await body(seen, api)
                finally:
                    stop.set()

    yield lambda body: asyncio.run(beside(body))
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": OURS}, "data": data}


def test_an_operator_acts_on_what_is_made_changed_and_deleted(
    operated: Callable[..., None], own_namespace: str
) -> None:
    async def body(seen: Seen, api: client.ApiClient) -> None:
        core, apps = CoreV1Api(api), AppsV1Api(api)
        made = await asyncio.to_thread(
            core.create_namespaced_config_map, own_namespace, config_map("app", replicas="1")
        )
        await seen.until("made", "app")
        await seen.until("deployments ADDED", "app")
        deployment = await asyncio.to_thread(apps.read_namespaced_deployment, "app", own_namespace)
        assert deployment.metadata.owner_references[0].uid == made.metadata.uid

        await asyncio.to_thread(core.patch_namespaced_config_map, "app", own_namespace, {"data": {"replicas": "3"}})
        await seen.until("changed", "app")
        scale = await asyncio.to_thread(apps.read_namespaced_deployment_scale, "app", own_namespace)
        assert scale.spec.replicas == 3

        held = await asyncio.to_thread(core.read_namespaced_config_map, "app", own_namespace)
        assert held.metadata.finalizers == ["kopf.zalando.org/KopfFinalizerMarker"]
        await asyncio.to_thread(core.delete_namespaced_config_map, "app", own_namespace)
        await seen.until("leaving", "app")
        await seen.until("deployments DELETED", "app")

    operated(body)


def test_an_operator_finds_what_was_there_before_it(
    operated: Callable[..., None], shared_server: Server, own_namespace: str
) -> None:
    path = f"/api/v1/namespaces/{own_namespace}/configmaps"
    with shared_server.client() as http:
        http.create(path, config_map("early"))

    async def body(seen: Seen, api: client.ApiClient) -> None:
        await seen.until("made", "early")
        await asyncio.to_thread(CoreV1Api(api).delete_namespaced_config_map, "early", own_namespace)
        await seen.until("leaving", "early")

    operated(body)
    with shared_server.client() as http:
        assert http.call("GET", f"{path}/early")[0] == 404
