"""kr8s against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, Deployment, Pod, object_from_spec

from tests.server_process import Server

# It does not know this version of Kubernetes yet, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported")


@pytest.fixture
def run(shared_server: Server, own_namespace: str) -> Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]:
    """Runs a coroutine function with a client for this test's namespace."""

    async def with_client(body: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        api = await kr8s.asyncio.api(kubeconfig=str(shared_server.kubeconfig()), namespace=own_namespace)
        await body(api)
        await api._session.aclose()

    return lambda body: asyncio.run(with_client(body))


def named(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **rest}


POD_SPEC = {"containers": [{"name": "main", "image": "main:1"}]}


def test_an_object_from_creation_to_deletion(run: Callable[..., None]) -> None:
    async def body(api: Any) -> None:
        colours = await ConfigMap(named("ConfigMap", "colours", data={"sky": "blue"}), api=api)
        await colours.create()
        await colours.patch({"data": {"sea": "green"}})
        await colours.label(team="blue")
        await colours.annotate(why="because")
        await colours.refresh()
        assert dict(colours.data) == {"sky": "blue", "sea": "green"}
        assert (colours.labels["team"], colours.annotations["why"]) == ("blue", "because")
        found = [item.name async for item in api.get("configmaps", label_selector={"team": "blue"})]
        assert found == ["colours"]
        await colours.delete()
        assert not await colours.exists()
        with pytest.raises(kr8s.NotFoundError):
            await colours.refresh()

    run(body)


def test_a_deployment_is_scaled(run: Callable[..., None]) -> None:
    async def body(api: Any) -> None:
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC},
        }
        manifest = named("Deployment", "web", spec=spec) | {"apiVersion": "apps/v1"}
        web = await Deployment(manifest, api=api)
        await web.create()
        scaling = asyncio.create_task(web.scale(3))
        observed = await Deployment.get("web", api=api)
        async with asyncio.timeout(20):
            while observed.replicas != 3:
                await observed.refresh()
        # Scaling ends when the controller says that it is done.
        await observed.patch({"status": {"replicas": 3}}, subresource="status")
        await asyncio.wait_for(scaling, 20)
        assert web.replicas == 3

    run(body)


def test_waiting_ends_with_the_condition(run: Callable[..., None]) -> None:
    async def body(api: Any) -> None:
        pod = await Pod(named("Pod", "one", spec=POD_SPEC), api=api)
        await pod.create()
        assert not await pod.ready()
        waiting = asyncio.create_task(pod.wait("condition=Ready", timeout=20))
        status = {
            "phase": "Running",
            "conditions": [{"type": n, "status": "True"} for n in ("Ready", "ContainersReady")],
        }
        other = await Pod.get("one", api=api)
        await other.patch({"status": status}, subresource="status")
        await waiting
        assert await other.ready()

    run(body)


def test_a_watch_sees_additions_and_deletions(run: Callable[..., None]) -> None:
    async def body(api: Any) -> None:
        made = await ConfigMap(named("ConfigMap", "one"), api=api)
        await made.create()
        seen = []
        async with asyncio.timeout(20), aclosing(api.watch("configmaps")) as events:
            async for event, item in events:
                seen.append((event, item.name))
                if event == "DELETED":
                    break
                await made.delete()
        assert seen == [("ADDED", "one"), ("DELETED", "one")]

    run(body)


def test_the_api_is_discovered_and_kinds_without_a_class_work(run: Callable[..., None]) -> None:
    async def body(api: Any) -> None:
        assert (await api.version())["gitVersion"] == "v1.37.0"
        kinds = {resource["kind"] for resource in await api.api_resources()}
        assert {"Deployment", "NetworkPolicy", "Lease"} <= kinds
        assert "apps/v1" in [version async for version in api.api_versions()]
        lease = named("Lease", "mine", spec={"holderIdentity": "me"}) | {"apiVersion": "coordination.k8s.io/v1"}
        made = await object_from_spec(lease, api=api, allow_unknown_type=True)
        await made.create()
        found = [item.spec.holderIdentity async for item in api.get("leases.coordination.k8s.io")]
        assert found == ["me"]

    run(body)
