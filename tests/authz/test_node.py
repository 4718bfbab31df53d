"""The Node authorizer: a kubelet reaches what its pods need, and nothing of other nodes."""

from __future__ import annotations

import pytest

from kapi.api.authorizer import Decision, Verdict
from kapi.api.gvk import GroupResource
from kapi.api.request_info import parse_query, parse_request_info
from kapi.api.user import User
from kapi.authz.node import NodeAuthorizer
from kapi.authz.node_graph import CLAIMS, PODS, VOLUMES, NodeGraph

N1 = User(name="system:node:n1", groups=("system:nodes",))
UNRELATED = Verdict(Decision.NO_OPINION, "no relationship found between node 'n1' and this object")
KINDS = {PODS: "Pod", CLAIMS: "PersistentVolumeClaim", VOLUMES: "PersistentVolume"}


class Cluster:
    def __init__(self, world):
        self._world = world
        graph = NodeGraph()
        graph.bind({resource: world.cacher(kind, resource.resource, "v1") for resource, kind in KINDS.items()})
        self.authorizer = NodeAuthorizer(graph)

    async def ask(self, target, method="GET", user=N1):
        path, _, query = target.partition("?")
        return await self.authorizer.authorize(user, parse_request_info(method, path, parse_query(query)))

    async def allowed(self, target, method="GET", user=N1):
        return (await self.ask(target, method, user)).decision is Decision.ALLOW

    async def put(self, resource: GroupResource, name, namespace="", **fields):
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
        await self._world.put(resource.resource, KINDS[resource], "v1", {"metadata": metadata, **fields})

    async def drop(self, resource, name, namespace):
        await self._world.drop(resource.resource, {"metadata": {"name": name, "namespace": namespace}})


@pytest.fixture
def in_cluster(in_world):
    def go(test):
        async def main(world):
            await test(Cluster(world))

        in_world(main)

    return go


def volumes(*sources):
    return [{"name": f"v{i}", **source} for i, source in enumerate(sources)]


def test_a_node_reads_what_its_pods_refer_to_while_they_run_there(in_cluster):
    async def test(cluster):
        spec = {
            "nodeName": "n1",
            "serviceAccountName": "robot",
            "imagePullSecrets": [{"name": "pull"}],
            "containers": [
                {
                    "env": [{"valueFrom": {"secretKeyRef": {"name": "env"}}}],
                    "envFrom": [{"configMapRef": {"name": "settings"}}],
                }
            ],
            "volumes": volumes(
                {"secret": {"secretName": "mounted"}}, {"projected": {"sources": [{"secret": {"name": "proj"}}]}}
            ),
        }
        assert await cluster.ask("/api/v1/namespaces/a/secrets/mounted") == UNRELATED
        await cluster.put(PODS, "web", "a", spec=spec)
        for secret in ("pull", "env", "mounted", "proj"):
            assert await cluster.allowed(f"/api/v1/namespaces/a/secrets/{secret}"), secret
            assert not await cluster.allowed(f"/api/v1/namespaces/b/secrets/{secret}")
        assert await cluster.allowed("/api/v1/namespaces/a/configmaps/settings")
        assert await cluster.allowed("/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dpull")
        assert await cluster.allowed("/api/v1/namespaces/a/serviceaccounts/robot/token", "POST")
        assert not await cluster.allowed("/api/v1/namespaces/a/secrets/pull", user=User(name="system:node:n1"))
        assert not await cluster.allowed(
            "/api/v1/namespaces/a/secrets/pull", user=User(name="system:node:n2", groups=("system:nodes",))
        )
        await cluster.put(PODS, "web", "a", spec={**spec, "nodeName": "n2"})
        assert await cluster.ask("/api/v1/namespaces/a/secrets/pull") == UNRELATED
        await cluster.put(PODS, "web", "a", spec=spec)
        await cluster.drop(PODS, "web", "a")
        assert await cluster.ask("/api/v1/namespaces/a/secrets/pull") == UNRELATED

    in_cluster(test)


def test_a_mirror_pod_grants_its_node_nothing(in_cluster):
    async def test(cluster):
        spec = {"nodeName": "n1", "volumes": volumes({"secret": {"secretName": "s"}})}
        mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
        await cluster.put(PODS, "static", "a", spec=spec, metadata=mirror)
        assert await cluster.ask("/api/v1/namespaces/a/secrets/s") == UNRELATED
        assert await cluster.allowed("/api/v1/namespaces/a/pods/static")

    in_cluster(test)


def test_a_claim_leads_to_its_volume_and_the_secrets_of_that(in_cluster):
    async def test(cluster):
        claims = volumes({"persistentVolumeClaim": {"claimName": "data"}}, {"ephemeral": {}})
        await cluster.put(PODS, "db", "a", spec={"nodeName": "n1", "volumes": claims})
        await cluster.put(CLAIMS, "data", "a", spec={"volumeName": "pv1"})
        csi = {"nodePublishSecretRef": {"name": "mount", "namespace": "infra"}}
        claim = {"namespace": "a", "name": "data"}
        await cluster.put(VOLUMES, "pv1", spec={"claimRef": claim, "csi": csi})
        await cluster.put(VOLUMES, "pv2", spec={"claimRef": {"namespace": "b", "name": "data"}})
        assert await cluster.allowed("/api/v1/namespaces/a/persistentvolumeclaims/data")
        assert await cluster.allowed("/api/v1/namespaces/a/persistentvolumeclaims/db-v1")
        assert await cluster.allowed("/api/v1/persistentvolumes/pv1")
        assert await cluster.allowed("/api/v1/namespaces/infra/secrets/mount")
        assert await cluster.ask("/api/v1/persistentvolumes/pv2") == UNRELATED
        assert await cluster.ask("/api/v1/namespaces/infra/secrets/other") == UNRELATED

    in_cluster(test)


@pytest.mark.parametrize(
    ("method", "target", "reason"),
    [
        ("GET", "/api/v1/secrets", "can only read namespaced object of this type"),
        ("GET", "/api/v1/namespaces/a/secrets", "No Object name found"),
        ("DELETE", "/api/v1/namespaces/a/secrets/s", "can only read resources of this type"),
        ("GET", "/api/v1/nodes", "node 'n1' cannot read all nodes, only its own Node object"),
        ("GET", "/api/v1/nodes/n2", "node 'n1' cannot read 'n2', only its own Node object"),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2",
            "can only list/watch pods with spec.nodeName field selector",
        ),
        ("GET", "/api/v1/pods?fieldSelector=%26%26", "can only list/watch pods with spec.nodeName field selector"),
        (
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/n1",
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            "PUT",
            "/apis/storage.k8s.io/v1/csinodes/n2",
            "can only access CSINode with the same name as the requesting node",
        ),
        ("DELETE", "/api/v1/nodes/n1", ""),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", ""),
    ],
)
def test_what_a_node_may_not_and_why(in_cluster, method, target, reason):
    async def test(cluster):
        assert await cluster.ask(target, method) == Verdict(Decision.NO_OPINION, reason)

    in_cluster(test)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/api/v1/nodes/n1"),
        ("PATCH", "/api/v1/nodes/n1/status"),
        ("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1"),
        ("POST", "/api/v1/namespaces/a/pods/web/eviction"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"),
        ("GET", "/api/v1/services"),
    ],
)
def test_what_every_node_may(in_cluster, method, target):
    async def test(cluster):
        assert await cluster.allowed(target, method)
        assert not await cluster.allowed(target, method, User(name="alice", groups=("system:nodes",)))

    in_cluster(test)
