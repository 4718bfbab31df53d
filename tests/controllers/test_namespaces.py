"""Deleted namespaces, seen through the API of a real server."""

from __future__ import annotations

from tests.controllers.test_garbage_collector import define
from tests.controllers.world import Object, World


def conditions(state: Object | None) -> dict[str, Object]:
    return {c["type"]: c for c in (state or {}).get("status", {}).get("conditions") or ()}


def test_pods_go_before_what_they_use(world: World) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    world.create("pods", {"metadata": {"name": "p", "finalizers": ["example.com/wait"]}, "spec": spec})
    world.create("configmaps", {"metadata": {"name": "used"}})
    world.delete(f"namespaces/{world.namespace}")
    held = world.until(f"namespaces/{world.namespace}", lambda s: "NamespaceContentRemaining" in conditions(s))
    told = conditions(held)
    assert told["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: pods. has 1 resource instances"
    )
    assert told["NamespaceFinalizersRemaining"]["reason"] == "SomeFinalizersRemain"
    assert told["NamespaceDeletionContentFailure"]["status"] == "False"
    assert world.exists("configmaps/used")
    world.patch("pods/p", {"metadata": {"finalizers": None}})
    world.until_gone(f"namespaces/{world.namespace}")


def test_custom_resources_go_too(world: World) -> None:
    group = f"{world.namespace}.example.com"
    things = define(world, group)
    world.create(things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}})
    world.delete(f"namespaces/{world.namespace}")
    world.until_gone(f"namespaces/{world.namespace}")
    assert not world.exists(f"{things}/a")


def test_other_finalizers_of_the_namespace_are_left_to_others(world: World) -> None:
    name = f"{world.namespace}-b"
    world.create("namespaces", {"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes", "example.com/mine"]}})
    other = World(world.server, world.client, name)
    other.create("configmaps", {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}})
    world.delete(f"namespaces/{name}")
    world.until(
        f"namespaces/{name}", lambda s: conditions(s).get("NamespaceContentRemaining", {}).get("status") == "True"
    )
    other.patch("configmaps/held", {"metadata": {"finalizers": None}})
    left = world.until(
        f"namespaces/{name}", lambda s: s is not None and s["spec"]["finalizers"] == ["example.com/mine"]
    )
    assert {c["status"] for c in conditions(left).values()} == {"False"}
    assert left is not None
    world.client.call("PUT", f"/api/v1/namespaces/{name}/finalize", {**left, "spec": {"finalizers": []}})
    world.until_gone(f"namespaces/{name}")


def test_of_many_objects_only_those_that_others_hold_are_waited_for(world: World) -> None:
    for i in range(510):
        held = {"finalizers": ["example.com/wait"]} if i % 250 == 0 else {}
        world.create("configmaps", {"metadata": {"name": f"c{i}", **held}})
    world.delete(f"namespaces/{world.namespace}")
    state = world.until(f"namespaces/{world.namespace}", lambda s: "NamespaceContentRemaining" in conditions(s))
    assert "configmaps. has 3 resource instances" in conditions(state)["NamespaceContentRemaining"]["message"]
    for i in (0, 250, 500):
        world.patch(f"configmaps/c{i}", {"metadata": {"finalizers": None}})
    world.until_gone(f"namespaces/{world.namespace}")
