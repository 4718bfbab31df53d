"""Garbage collection, seen through the API of a real server."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from tests.controllers.world import Object, World, owner
from tests.server_process import Server


def being_deleted(state: Object | None) -> bool:
    return state is not None and "deletionTimestamp" in state["metadata"]


def no_owners(state: Object | None) -> bool:
    return state is not None and "ownerReferences" not in state["metadata"]


def absent(kind: str = "ConfigMap") -> Object:
    return {"apiVersion": "v1", "kind": kind, "name": "never-was", "uid": str(uuid.uuid4())}


def test_what_is_owned_goes_after_its_owner(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    child = world.owned("configmaps", "child", owner(parent))
    world.owned("secrets", "grandchild", owner(child))
    assert world.delete("configmaps/parent", "Background") == 200
    world.until_gone("configmaps/child")
    world.until_gone("secrets/grandchild")


def test_background_is_what_happens_when_nothing_is_asked_for(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "child", owner(parent))
    world.delete("configmaps/parent")
    assert not world.exists("configmaps/parent")
    world.until_gone("configmaps/child")


def test_one_owner_of_two_is_enough_to_stay(world: World) -> None:
    first, second = world.owned("configmaps", "first"), world.owned("configmaps", "second")
    world.owned("configmaps", "child", owner(first), owner(second))
    world.delete("configmaps/first")
    left = world.until("configmaps/child", lambda s: s is not None and len(s["metadata"]["ownerReferences"]) == 1)
    assert left is not None
    assert left["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]
    world.delete("configmaps/second")
    world.until_gone("configmaps/child")


def test_orphans_lose_the_reference_and_stay(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "child", owner(parent, blocks=True))
    world.delete("configmaps/parent", "Orphan")
    world.until_gone("configmaps/parent")
    assert no_owners(world.get("configmaps/child"))


def test_a_foreground_deletion_waits_for_those_that_block_it(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "blocking", owner(parent, blocks=True), finalizers=["example.com/wait"])
    world.owned("configmaps", "other", owner(parent))
    assert world.delete("configmaps/parent", "Foreground") == 200
    world.until("configmaps/blocking", being_deleted)
    world.until_gone("configmaps/other")
    assert world.get("configmaps/parent")["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.patch("configmaps/blocking", {"metadata": {"finalizers": None}})
    world.until_gone("configmaps/parent")
    assert not world.exists("configmaps/blocking")


def test_a_foreground_deletion_does_not_wait_for_those_that_do_not_block(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "child", owner(parent), finalizers=["example.com/wait"])
    world.delete("configmaps/parent", "Foreground")
    world.until_gone("configmaps/parent")
    world.until("configmaps/child", being_deleted)
    world.patch("configmaps/child", {"metadata": {"finalizers": None}})


def test_a_foreground_deletion_goes_on_when_a_dependent_no_longer_blocks_it(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "child", owner(parent, blocks=True), finalizers=["example.com/wait"])
    world.delete("configmaps/parent", "Foreground")
    world.until("configmaps/child", being_deleted)
    world.patch("configmaps/child", {"metadata": {"ownerReferences": [owner(parent, blocks=False)]}})
    world.until_gone("configmaps/parent")
    world.patch("configmaps/child", {"metadata": {"finalizers": None}})


def test_a_dependent_made_while_its_owner_goes_in_the_foreground_goes_too(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "early", owner(parent, blocks=True), finalizers=["example.com/wait"])
    world.delete("configmaps/parent", "Foreground")
    world.owned("configmaps", "late", owner(parent, blocks=True))
    world.until_gone("configmaps/late")
    assert world.exists("configmaps/parent")
    world.patch("configmaps/early", {"metadata": {"finalizers": None}})
    world.until_gone("configmaps/parent")


def test_foreground_goes_down_through_the_generations(world: World) -> None:
    first = world.owned("configmaps", "first")
    second = world.owned("configmaps", "second", owner(first, blocks=True))
    world.owned("configmaps", "third", owner(second, blocks=True), finalizers=["example.com/wait"])
    world.delete("configmaps/first", "Foreground")
    world.until("configmaps/third", being_deleted)
    assert world.get("configmaps/second")["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert world.exists("configmaps/first")
    world.patch("configmaps/third", {"metadata": {"finalizers": None}})
    world.until_gone("configmaps/first")


def test_a_circle_of_owners_does_not_wait_for_itself(world: World) -> None:
    one = world.owned("configmaps", "one")
    two = world.owned("configmaps", "two", owner(one, blocks=True))
    world.patch("configmaps/one", {"metadata": {"ownerReferences": [owner(two, blocks=True)]}})
    world.delete("configmaps/one", "Foreground")
    world.until_gone("configmaps/one")
    world.until_gone("configmaps/two")


def test_an_object_whose_owner_never_was_goes(world: World) -> None:
    world.owned("configmaps", "lost", absent())
    world.until_gone("configmaps/lost")


def test_an_owner_of_the_same_name_but_another_uid_is_none(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "child", {**owner(parent), "uid": str(uuid.uuid4())})
    world.until_gone("configmaps/child")


def test_an_owner_in_no_namespace_owns_in_all(world: World) -> None:
    name = f"owner-{world.namespace}"
    role = world.create("clusterroles", {"metadata": {"name": name}, "rules": []})
    world.owned("configmaps", "child", owner(role))
    stays = world.owned("configmaps", "stays")
    world.delete(f"clusterroles/{name}")
    world.until_gone("configmaps/child")
    assert world.get("configmaps/stays")["metadata"]["uid"] == stays["metadata"]["uid"]


def test_an_owner_in_another_namespace_is_none_and_that_is_told(world: World) -> None:
    elsewhere = f"{world.namespace}-b"
    world.create("namespaces", {"metadata": {"name": elsewhere}})
    other = World(world.server, world.client, elsewhere)
    parent = world.owned("configmaps", "parent")
    world.owned("configmaps", "near", owner(parent))
    far = other.owned("configmaps", "far", owner(parent))
    other.until_gone("configmaps/far")
    assert world.until_event(far)["reason"] == "OwnerRefInvalidNamespace"
    assert world.exists("configmaps/near")
    world.delete(f"namespaces/{elsewhere}")


def test_an_object_in_no_namespace_is_kept_whatever_namespaced_owner_it_names(world: World) -> None:
    parent = world.owned("configmaps", "parent")
    name = f"odd-{world.namespace}"
    body = {"metadata": {"name": name, "ownerReferences": [owner(parent)]}, "rules": []}
    made = world.create("clusterroles", body)
    event = world.until_event(made)
    assert event["reason"] == "OwnerRefInvalidNamespace"
    assert "ConfigMap" in event["message"]
    assert world.exists(f"clusterroles/{name}")
    world.delete(f"clusterroles/{name}")


def test_an_owner_of_a_kind_that_is_not_served_is_waited_for(world: World) -> None:
    group = f"{world.namespace}.example.com"
    reference = {"apiVersion": f"{group}/v1", "kind": "Thing", "name": "x", "uid": str(uuid.uuid4())}
    world.owned("configmaps", "child", reference)
    # Those that came later were looked at: this one was too.
    world.owned("configmaps", "lost", absent())
    world.until_gone("configmaps/lost")
    assert world.exists("configmaps/child")
    define(world, group)
    world.until_gone("configmaps/child")


def test_custom_resources_own_and_are_owned(world: World) -> None:
    group = f"{world.namespace}.example.com"
    things = define(world, group)
    parent = world.create(things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "parent"}})
    body = {"metadata": {"name": "child", "ownerReferences": [owner(parent)]}}
    child = world.create(things, {"apiVersion": f"{group}/v1", "kind": "Thing", **body})
    world.owned("configmaps", "grandchild", owner(child))
    world.delete(f"{things}/parent")
    world.until_gone(f"{things}/child")
    world.until_gone("configmaps/grandchild")


def define(world: World, group: str) -> str:
    """A definition of Things; the path of those in the namespace, once they are served."""
    name = f"things.{group}"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    world.create("customresourcedefinitions", {"metadata": {"name": name}, "spec": spec})

    def established(state: Object | None) -> bool:
        conditions = (state or {}).get("status", {}).get("conditions") or ()
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    world.until(f"customresourcedefinitions/{name}", established)
    return f"/apis/{group}/v1/namespaces/{world.namespace}/things"


def test_a_pod_goes_only_with_the_owner_it_was_made_for(world: World) -> None:
    """Deployment → ReplicaSet → Pod, as controllers make them, with each policy."""
    for policy, left in (("Foreground", []), ("Background", []), ("Orphan", ["replicasets/rs", "pods/p"])):
        make_application(world)
        world.delete("deployments/app", policy)
        world.until_gone("deployments/app")
        for short in ("replicasets/rs", "pods/p"):
            if short not in left:
                world.until_gone(short)
        assert [short for short in ("replicasets/rs", "pods/p") if world.exists(short)] == left
    assert no_owners(world.get("replicasets/rs"))
    assert not no_owners(world.get("pods/p"))


def make_application(world: World) -> None:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = world.create("deployments", {"metadata": {"name": "app"}, "spec": spec})
    controlled = {"name": "rs", "ownerReferences": [owner(deployment, blocks=True, controls=True)]}
    replica_set = world.create("replicasets", {"metadata": controlled, "spec": spec})
    references = [owner(replica_set, blocks=True, controls=True)]
    metadata = {"name": "p", "labels": labels, "ownerReferences": references}
    world.create("pods", {"metadata": metadata, "spec": template["spec"]})


def test_it_goes_on_after_a_crash(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    with server.client() as client:
        world = World(server, client, "default")
        parent = world.owned("configmaps", "parent")
        for i in range(20):
            world.owned("configmaps", f"child-{i}", owner(parent))
        kept = world.owned("configmaps", "kept", owner(world.owned("configmaps", "other")))
        world.delete("configmaps/parent")
        waiting = world.owned("configmaps", "waiting")
        world.owned("configmaps", "blocking", owner(waiting, blocks=True))
        world.delete("configmaps/waiting", "Foreground")
        things = define(world, "example.com")
        generous = world.owned("configmaps", "generous")
        orphan = {"metadata": {"name": "orphan", "ownerReferences": [owner(generous)]}}
        world.create(things, {"apiVersion": "example.com/v1", "kind": "Thing", **orphan})
        world.delete("configmaps/generous", "Orphan")
    server.process.kill()
    server.exit_status()
    server.start("--in-process-controllers=garbagecollector")
    with server.client() as client:
        world = World(server, client, "default")
        for i in range(20):
            world.until_gone(f"configmaps/child-{i}")
        world.until_gone("configmaps/waiting")
        assert not world.exists("configmaps/blocking")
        world.until_gone("configmaps/generous")
        assert no_owners(world.get(f"{things}/orphan"))
        assert world.get("configmaps/kept")["metadata"]["uid"] == kept["metadata"]["uid"]
