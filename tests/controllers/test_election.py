"""Several servers over one etcd: one of them runs the controllers, another takes over."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Etcd
from tests.controllers.world import World, owner
from tests.server_process import Server

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kapi-in-process-controllers"


def test_another_server_goes_on_when_the_elected_one_ends(etcd: Etcd, new_server: Callable[..., Server]) -> None:
    flags = (f"--etcd-servers={etcd.url}", "--etcd-prefix=/election", "--in-process-controllers=all")
    first, second = new_server(*flags).start(), new_server(*flags)
    first.logged('"controllers_elected"')
    second.start()
    with second.client() as client:
        world = World(second, client, "default")
        parent = world.owned("configmaps", "parent")
        world.owned("configmaps", "child", owner(parent))
        world.delete("configmaps/parent")
        world.until_gone("configmaps/child")
        before = client.get(LEASE)["spec"]
        assert before["holderIdentity"].endswith(f"_{first.process.pid}")
        # Told to stop, it gives up what it held: nobody need wait until it is overdue.
        assert first.stop() == 0
        second.logged('"controllers_elected"')
        after = client.get(LEASE)["spec"]
        assert after["holderIdentity"].endswith(f"_{second.process.pid}")
        assert after["leaseTransitions"] == before["leaseTransitions"] + 1
        parent = world.owned("configmaps", "parent")
        world.owned("configmaps", "child", owner(parent))
        world.delete("configmaps/parent")
        world.until_gone("configmaps/child")


def test_a_store_of_ones_own_needs_no_election(controlled_server: Server) -> None:
    with controlled_server.client() as client:
        status, _ = client.call("GET", LEASE)
    assert status == 404
