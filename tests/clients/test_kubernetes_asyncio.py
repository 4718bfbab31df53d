"""The `kubernetes_asyncio` package against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client import ApiException, AppsV1Api, CoreV1Api

from tests.server_process import Server

SERVER_SIDE = "application/apply-patch+yaml"


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[client.ApiClient]:
    settings = client.Configuration()
    await config.load_kube_config(str(server.kubeconfig()), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        yield api


@pytest.fixture
def run(shared_server: Server) -> Callable[[Callable[[client.ApiClient], Awaitable[Any]]], Any]:
    """Runs a coroutine function with a client."""

    async def with_client(body: Callable[[client.ApiClient], Awaitable[Any]]) -> Any:
        async with connected(shared_server) as api:
            return await body(api)

    return lambda body: asyncio.run(with_client(body))


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_an_object_from_creation_to_deletion(run: Callable[..., Any], own_namespace: str) -> None:
    async def body(api: client.ApiClient) -> None:
        core = CoreV1Api(api)
        await core.create_namespaced_config_map(own_namespace, config_map("colours", sky="blue"))
        read = await core.read_namespaced_config_map("colours", own_namespace)
        read.data = {"sun": "red"}
        replaced = await core.replace_namespaced_config_map("colours", own_namespace, read)
        assert replaced.data == {"sun": "red"}
        with pytest.raises(ApiException) as stale:
            await core.replace_namespaced_config_map("colours", own_namespace, read)
        await core.delete_namespaced_config_map("colours", own_namespace)
        with pytest.raises(ApiException) as gone:
            await core.read_namespaced_config_map("colours", own_namespace)
        assert (stale.value.status, gone.value.status) == (409, 404)

    run(body)


def test_many_requests_at_once(run: Callable[..., Any], own_namespace: str) -> None:
    async def body(api: client.ApiClient) -> None:
        core = CoreV1Api(api)
        names = [f"c{number:03}" for number in range(100)]
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(core.create_namespaced_config_map(own_namespace, config_map(name)))
        found = await core.list_namespaced_config_map(own_namespace, limit=30)
        seen = [item.metadata.name for item in found.items]
        while found.metadata._continue:
            found = await core.list_namespaced_config_map(own_namespace, limit=30, _continue=found.metadata._continue)
            seen += [item.metadata.name for item in found.items]
        assert seen == names

    run(body)


def test_a_watch_goes_on_from_a_list(run: Callable[..., Any], own_namespace: str) -> None:
    async def body(api: client.ApiClient) -> None:
        core = CoreV1Api(api)
        before = await core.create_namespaced_config_map(own_namespace, config_map("one"))
        version = (await core.list_namespaced_config_map(own_namespace)).metadata.resource_version
        await core.patch_namespaced_config_map("one", own_namespace, {"data": {"a": "b"}})
        await core.delete_namespaced_config_map("one", own_namespace)
        seen = []
        async with watch.Watch() as watching:
            stream = watching.stream(
                core.list_namespaced_config_map, own_namespace, resource_version=version, timeout_seconds=20
            )
            async for event in stream:
                seen.append((event["type"], event["object"].metadata.uid, event["object"].data))
                if event["type"] == "DELETED":
                    break
        uid = before.metadata.uid
        assert seen == [("MODIFIED", uid, {"a": "b"}), ("DELETED", uid, {"a": "b"})]

    run(body)


def test_a_deployment_is_applied_and_scaled(run: Callable[..., Any], own_namespace: str) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }

    async def body(api: client.ApiClient) -> None:
        apps = AppsV1Api(api)
        apply: dict[str, Any] = {"_content_type": SERVER_SIDE}
        applied = await apps.patch_namespaced_deployment(
            "web", own_namespace, deployment, field_manager="asyncio", **apply
        )
        assert applied.spec.strategy.rolling_update.max_surge == "25%"
        scale = await apps.read_namespaced_deployment_scale("web", own_namespace)
        scale.spec.replicas = 5
        scaled = await apps.replace_namespaced_deployment_scale("web", own_namespace, scale)
        assert (scaled.spec.replicas, scaled.status.selector) == (5, "app=web")
        with pytest.raises(ApiException) as conflict:
            await apps.patch_namespaced_deployment("web", own_namespace, deployment, field_manager="other", **apply)
        assert conflict.value.status == 409
        assert ".spec.replicas" in conflict.value.body

    run(body)


def test_the_dynamic_client_finds_every_kind(run: Callable[..., Any], own_namespace: str) -> None:
    async def body(api: client.ApiClient) -> None:
        from kubernetes_asyncio.dynamic import DynamicClient

        dynamic = await DynamicClient(api)
        jobs = await dynamic.resources.get(api_version="batch/v1", kind="CronJob")
        pod = {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Never"}
        job = {
            "metadata": {"name": "often"},
            "spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec": pod}}}},
        }
        created = await jobs.create(body=job, namespace=own_namespace)
        assert created.spec.concurrencyPolicy == "Allow"
        found = await jobs.get(namespace=own_namespace)
        assert [item.metadata.name for item in found.items] == ["often"]

    run(body)
