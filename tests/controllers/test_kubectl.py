"""What kubectl's users see of the controllers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.controllers.test_garbage_collector import make_application
from tests.controllers.world import World


@pytest.fixture
def kubectl(world: World, tmp_path: Path) -> Kubectl:
    return Kubectl(world.server, tmp_path, world.namespace)


@pytest.mark.parametrize(("cascade", "left"), [("foreground", 0), ("background", 0), ("orphan", 2)])
def test_delete_cascades_as_it_is_told(world: World, kubectl: Kubectl, cascade: str, left: int) -> None:
    make_application(world)
    assert 'deployment.apps "app" deleted' in kubectl("delete", "deployment", "app", f"--cascade={cascade}")
    if not left:
        kubectl("wait", "--for=delete", "replicaset/rs", "pod/p", "--timeout=30s")
    assert len(kubectl("get", "replicasets,pods", "-o", "name").split()) == left


def test_a_namespace_goes_with_all_that_is_in_it(world: World, kubectl: Kubectl) -> None:
    make_application(world)
    kubectl("create", "configmap", "c", "--from-literal=a=b")
    kubectl("delete", "namespace", world.namespace, "--timeout=30s")
    assert "NotFound" in kubectl.run("get", "namespace", world.namespace).stderr


def test_a_pod_can_be_made_right_after_its_namespace(world: World, kubectl: Kubectl) -> None:
    name = f"{world.namespace}-new"
    body = {"metadata": {"name": name}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    world.create("namespaces", body)
    made = world.create(f"/api/v1/namespaces/{name}/pods", pod)
    assert made["spec"]["serviceAccountName"] == "default"
    kubectl("delete", "namespace", name, "--timeout=30s")
