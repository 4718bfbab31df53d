"""A real kube-controller-manager beside the server finds all it needs. KAPI_TEST_CONTROLLER_MANAGER names one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.controllers.test_garbage_collector import no_owners
from tests.controllers.test_namespaces import conditions
from tests.controllers.world import World, owner
from tests.server_process import Server

BINARY = os.environ.get("KAPI_TEST_CONTROLLER_MANAGER")
CONTROLLERS = "namespace-controller,garbage-collector-controller,serviceaccount-controller"

pytestmark = pytest.mark.skipif(BINARY is None, reason="needs a kube-controller-manager")


@pytest.fixture
def managed(new_server: Callable[..., Server]) -> Iterator[World]:
    server = new_server().start()
    flags = (
        f"--kubeconfig={server.kubeconfig()}",
        f"--cert-dir={server.folder / 'manager'}",
        f"--controllers={CONTROLLERS}",
        "--leader-elect=false",
        "--secure-port=0",
    )
    with (server.folder / "manager.log").open("w") as log:
        manager = subprocess.Popen([str(BINARY), *flags], stdout=log, stderr=log)
        try:
            with server.client() as client:
                world = World(server, client, "managed")
                world.create("namespaces", {"metadata": {"name": "managed"}})
                yield world
        finally:
            manager.kill()
            manager.wait()


def test_its_namespace_and_garbage_controllers_work(managed: World) -> None:
    managed.until("serviceaccounts/default", lambda state: state is not None)
    for policy in ("Background", "Foreground", "Orphan"):
        parent = managed.owned("configmaps", "parent")
        managed.owned("configmaps", "child", owner(parent, blocks=True))
        managed.delete("configmaps/parent", policy)
        managed.until_gone("configmaps/parent")
        if policy == "Orphan":
            assert no_owners(managed.get("configmaps/child"))
        else:
            managed.until_gone("configmaps/child")
    managed.owned("configmaps", "held", finalizers=["example.com/wait"])
    managed.delete("namespaces/managed")
    state = managed.until("namespaces/managed", lambda s: "NamespaceContentRemaining" in conditions(s))
    assert "configmaps. has 1 resource instances" in conditions(state)["NamespaceContentRemaining"]["message"]
    managed.patch("configmaps/held", {"metadata": {"finalizers": None}})
    managed.until_gone("namespaces/managed")
