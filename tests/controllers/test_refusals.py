"""A webhook that refuses deletes: nothing is lost, it is reported, and it is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.test_namespaces import conditions
from tests.controllers.world import World, owner
from tests.webhook_server import WebhookServer

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
def refusals(world: World, tmp_path: Path) -> Iterator[set[str]]:
    """The names of ConfigMaps whose deletion is refused."""
    precious = {"precious"}

    def reply(review: Any) -> Any:
        request = review["request"]
        allowed = request["name"] not in precious
        response = {"uid": request["uid"], "allowed": allowed, "status": {"message": "it is precious"}}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}

    with WebhookServer(tmp_path) as server:
        server.replies["/keep"] = reply
        webhook = {
            "name": "keep.example.com",
            "clientConfig": server.client_config("/keep"),
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
        }
        world.create(WEBHOOKS, {"metadata": {"name": world.namespace}, "webhooks": [webhook]})
        yield precious
        world.delete(f"{WEBHOOKS}/{world.namespace}")


def test_a_namespace_says_what_could_not_be_deleted_and_goes_when_it_can(world: World, refusals: set[str]) -> None:
    for name in ("a", "precious", "z"):
        world.owned("configmaps", name)
    world.owned("secrets", "s")
    world.delete(f"namespaces/{world.namespace}")
    state = world.until(f"namespaces/{world.namespace}", lambda s: "NamespaceDeletionContentFailure" in conditions(s))
    failure = conditions(state)["NamespaceDeletionContentFailure"]
    assert (failure["status"], failure["reason"]) == ("True", "ContentDeletionFailed")
    assert failure["message"] == (
        "Failed to delete all resource types, 1 remaining: "
        'admission webhook "keep.example.com" denied the request: it is precious'
    )
    assert [short for short in ("a", "precious", "z") if world.exists(f"configmaps/{short}")] == ["precious"]
    assert not world.exists("secrets/s")
    refusals.clear()
    world.until_gone(f"namespaces/{world.namespace}")


def test_a_dependent_that_may_not_go_goes_when_it_may(world: World, refusals: set[str]) -> None:
    parent = world.owned("configmaps", "parent")
    for name in ("a", "precious"):
        world.owned("configmaps", name, owner(parent, blocks=True))
    world.delete("configmaps/parent", "Foreground")
    world.until_gone("configmaps/a")
    assert world.exists("configmaps/parent") and world.exists("configmaps/precious")
    refusals.clear()
    world.until_gone("configmaps/parent")
    assert not world.exists("configmaps/precious")
