"""lightkube against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import PatchType

from tests.server_process import Server


@pytest.fixture
def client(shared_server: Server, own_namespace: str) -> Iterator[Client]:
    settings = KubeConfig.from_file(str(shared_server.kubeconfig()))
    with Client(config=settings, namespace=own_namespace, field_manager="lightkube-tests") as found:
        yield found


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name=name), data=data)


def deployment(name: str) -> Deployment:
    labels = {"app": name}
    pod = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="a", image="a")]))
    return Deployment(
        metadata=ObjectMeta(name=name),
        spec=DeploymentSpec(replicas=1, selector=LabelSelector(matchLabels=labels), template=pod),
    )


def test_an_object_from_creation_to_deletion(client: Client) -> None:
    created = client.create(config_map("colours", sky="blue"))
    assert created.metadata is not None and created.metadata.uid
    assert client.get(ConfigMap, "colours") == created
    changed = client.patch(ConfigMap, "colours", {"data": {"sea": "green"}}, patch_type=PatchType.MERGE)
    assert changed.data == {"sky": "blue", "sea": "green"}
    with pytest.raises(ApiError) as stale:
        client.replace(created)
    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")
    client.delete(ConfigMap, "colours")
    with pytest.raises(ApiError) as gone:
        client.get(ConfigMap, "colours")
    assert gone.value.status.message == 'configmaps "colours" not found'


def test_a_list_is_read_in_chunks_and_by_selector(client: Client) -> None:
    for number in range(7):
        made = config_map(f"c{number}")
        assert made.metadata is not None
        made.metadata.labels = {"parity": "odd" if number % 2 else "even"}
        client.create(made)
    names = [item.metadata.name for item in client.list(ConfigMap, chunk_size=3) if item.metadata]
    assert names == [f"c{number}" for number in range(7)]
    odd = client.list(ConfigMap, labels={"parity": ["odd"]})
    assert [item.metadata.name for item in odd if item.metadata] == ["c1", "c3", "c5"]
    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap)) == []


def test_an_apply_belongs_to_its_manager(client: Client) -> None:
    client.apply(config_map("owned", a="1"))
    with pytest.raises(ApiError) as conflict:
        client.apply(config_map("owned", a="2"), field_manager="other")
    assert conflict.value.status.reason == "Conflict"
    taken = client.apply(config_map("owned", a="2"), field_manager="other", force=True)
    assert taken.data == {"a": "2"}
    assert client.apply(config_map("owned")).data == {"a": "2"}


def test_a_watch_sees_what_others_do(client: Client) -> None:
    client.create(config_map("one"))
    stream = client.watch(ConfigMap, server_timeout=20)
    assert next(stream)[0] == "ADDED"
    client.patch(ConfigMap, "one", {"data": {"a": "b"}})
    client.delete(ConfigMap, "one")
    seen = [(kind, item.data) for kind, item in (next(stream), next(stream))]
    assert seen == [("MODIFIED", {"a": "b"}), ("DELETED", {"a": "b"})]


def test_subresources_have_classes_of_their_own(client: Client) -> None:
    client.create(deployment("web"))
    scale = client.get(Deployment.Scale, "web")
    assert scale.spec == ScaleSpec(replicas=1)
    scale.spec = ScaleSpec(replicas=4)
    client.replace(scale, "web")
    status = {"status": {"replicas": 4, "conditions": [{"type": "Available", "status": "True"}]}}
    client.patch(Deployment.Status, "web", status, patch_type=PatchType.MERGE)
    ready = client.wait(Deployment, "web", for_conditions=["Available"])
    assert ready.spec is not None and ready.status is not None
    assert (ready.spec.replicas, ready.status.replicas) == (4, 4)


def test_a_dry_run_keeps_nothing_and_the_cluster_is_readable(client: Client, own_namespace: str) -> None:
    client.create(config_map("dry"), dry_run=True)
    assert list(client.list(ConfigMap)) == []
    assert list(client.list(Pod, namespace="*")) is not None
    assert own_namespace in [item.metadata.name for item in client.list(Namespace) if item.metadata]
