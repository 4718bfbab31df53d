"""Resizing what is on a node, which must have said that it can follow."""

from __future__ import annotations

from typing import Any

from tests.admission.conftest import Place

_STRATEGIC = "application/strategic-merge-patch+json"


def node(place: Place, *features: str) -> str:
    name = f"{place.name}-{len(features)}"
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    body: Any = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    place.client.create("/api/v1/nodes", body)
    status = {"status": {"capacity": room, "allocatable": room, "declaredFeatures": list(features)}}
    code, answer = place.client.call("PATCH", f"/api/v1/nodes/{name}/status", status, content_type=_STRATEGIC)
    assert code == 200, answer
    return name


def pod(place: Place, name: str, node_name: str) -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources}
    spec = {"nodeName": node_name, "containers": [container], "initContainers": [{**container, "name": "first"}]}
    place.made("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def resize(place: Place, name: str, containers: str, container: str) -> tuple[int, Any]:
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    patch = {"spec": {containers: [{"name": container, "resources": resources}]}}
    return place.client.call("PATCH", place.path(f"pods/{name}/resize"), patch, content_type=_STRATEGIC)


def test_init_containers_are_resized_only_where_the_node_can_follow(place: Place) -> None:
    plain, able = node(place), node(place, "InPlacePodVerticalScalingInitContainers")
    pod(place, "here", plain)
    pod(place, "there", able)
    status, answer = resize(place, "here", "initContainers", "first")
    feature = "InPlacePodVerticalScalingInitContainers"
    why = f'pod update requires features {feature} which are not available on node "{plain}"'
    assert (status, answer["message"]) == (403, f'pods "here" is forbidden: {why}')
    assert resize(place, "here", "containers", "c")[0] == 200
    assert resize(place, "there", "initContainers", "first")[0] == 200


def test_a_pod_on_a_node_that_is_not_there_cannot_be_resized_so(place: Place) -> None:
    pod(place, "lost", "nosuch")
    status, answer = resize(place, "lost", "initContainers", "first")
    assert (status, answer["message"]) == (403, 'pods "lost" is forbidden: node "nosuch" not found')
