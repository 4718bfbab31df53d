"""Disruption budgets know their pods, and evictions keep to them, seen through the API of a real server."""

from __future__ import annotations

from collections.abc import Callable

from tests.controllers.world import Object, World, owner

LABELS = {"app": "x"}
SPEC = {"containers": [{"name": "c", "image": "i"}]}


def create_budget(world: World, **spec: int | str) -> None:
    body = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": LABELS}, **spec}}
    world.create("poddisruptionbudgets", body)


def create_pod(world: World, name: str, *owners: Object, ready: bool = True) -> None:
    metadata = {"name": name, "labels": LABELS, "ownerReferences": list(owners)}
    world.create("pods", {"metadata": metadata, "spec": SPEC})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    world.patch(f"pods/{name}/status", {"status": status})


def evict(world: World, name: str) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return world.client.call("POST", world.path(f"pods/{name}/eviction"), body)[0]


def says(**wanted: int) -> Callable[[Object | None], bool]:
    def condition(state: Object | None) -> bool:
        status = (state or {}).get("status", {})
        return all(status.get(name) == value for name, value in wanted.items())

    return condition


def test_a_number_of_pods_must_stay(world: World) -> None:
    create_budget(world, minAvailable=2)
    for i in range(3):
        create_pod(world, f"p{i}")
    create_pod(world, "ill", ready=False)
    found = world.until(
        "poddisruptionbudgets/b", says(currentHealthy=3, desiredHealthy=2, expectedPods=4, disruptionsAllowed=1)
    )
    assert found is not None
    condition = found["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "True",
        "SufficientPods",
    )
    assert evict(world, "p0") == 201
    world.until("poddisruptionbudgets/b", says(currentHealthy=2, disruptionsAllowed=0, expectedPods=3))
    assert evict(world, "p1") == 429
    create_pod(world, "p4")
    world.until("poddisruptionbudgets/b", says(currentHealthy=3, disruptionsAllowed=1))
    assert evict(world, "p1") == 201


def test_a_share_is_of_what_the_deployment_is_scaled_to(world: World) -> None:
    spec = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": SPEC}}
    deployment = world.create("deployments", {"metadata": {"name": "d"}, "spec": {**spec, "replicas": 5}})
    metadata = {"name": "rs", "ownerReferences": [owner(deployment, controls=True)]}
    replica_set = world.create("replicasets", {"metadata": metadata, "spec": {**spec, "replicas": 2}})
    for i in range(4):
        create_pod(world, f"p{i}", owner(replica_set, controls=True))
    create_budget(world, maxUnavailable="50%")
    world.until(
        "poddisruptionbudgets/b", says(expectedPods=5, desiredHealthy=2, currentHealthy=4, disruptionsAllowed=2)
    )


def test_an_exact_number_may_be_missing_of_a_replica_set(world: World) -> None:
    spec = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": SPEC}}
    replica_set = world.create("replicasets", {"metadata": {"name": "rs"}, "spec": {**spec, "replicas": 3}})
    for i in range(3):
        create_pod(world, f"p{i}", owner(replica_set, controls=True))
    create_budget(world, maxUnavailable=1)
    world.until("poddisruptionbudgets/b", says(expectedPods=3, desiredHealthy=2, disruptionsAllowed=1))


def test_pods_whose_scale_cannot_be_told_may_not_be_disrupted(world: World) -> None:
    holder = world.owned("configmaps", "holder")
    create_pod(world, "p", owner(holder, controls=True))
    create_budget(world, minAvailable="50%")

    def failed(state: Object | None) -> bool:
        conditions = (state or {}).get("status", {}).get("conditions") or ()
        return any(
            c["reason"] == "SyncFailed" and c["message"] == "configmaps does not implement the scale subresource"
            for c in conditions
        )

    world.until("poddisruptionbudgets/b", failed)
    assert evict(world, "p") == 429


def test_a_budget_without_pods_allows_nothing(world: World) -> None:
    create_budget(world, minAvailable=0)
    found = world.until("poddisruptionbudgets/b", says(observedGeneration=1, disruptionsAllowed=0, expectedPods=0))
    assert found is not None
    assert found["status"]["conditions"][0]["reason"] == "InsufficientPods"
