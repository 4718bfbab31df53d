"""The `kubernetes` package against a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client import ApiException, CoreV1Api, V1ConfigMap, V1Namespace, V1ObjectMeta

from tests.server_process import Server


@pytest.fixture
def api(shared_server: Server) -> Iterator[client.ApiClient]:
    with connected(shared_server) as found:
        yield found


@pytest.fixture
def core(api: client.ApiClient) -> CoreV1Api:
    return CoreV1Api(api)


@pytest.fixture
def namespace(core: CoreV1Api, request: pytest.FixtureRequest) -> str:
    """One that only this test uses."""
    name = "python-" + request.node.name.replace("_", "-")[:50].strip("-")
    core.create_namespace(V1Namespace(metadata=V1ObjectMeta(name=name)))
    return name


def connected(server: Server) -> client.ApiClient:
    return config.new_client_from_config(str(server.kubeconfig()))


def config_map(name: str, **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name), data=data)


def test_the_version(api: client.ApiClient) -> None:
    version = client.VersionApi(api).get_code()
    assert (version.major, version.minor, version.git_version) == ("1", "37", "v1.37.0")


def test_groups_are_discovered(api: client.ApiClient) -> None:
    names = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    assert {"apiregistration.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io"} <= names
    kinds = {resource.kind for resource in CoreV1Api(api).get_api_resources().resources}
    assert {"Namespace", "ConfigMap", "Secret", "ServiceAccount"} <= kinds


def test_a_config_map_from_creation_to_deletion(core: CoreV1Api, namespace: str) -> None:
    created = core.create_namespaced_config_map(namespace, config_map("colours", sky="blue"))
    assert created.metadata.uid
    assert created.metadata.managed_fields[0].operation == "Update"

    read = core.read_namespaced_config_map("colours", namespace)
    assert read.to_dict() == created.to_dict()

    patched = core.patch_namespaced_config_map("colours", namespace, {"data": {"sea": "green"}})
    assert patched.data == {"sky": "blue", "sea": "green"}

    patched.data = {"sun": "red"}
    replaced = core.replace_namespaced_config_map("colours", namespace, patched)
    assert replaced.data == {"sun": "red"}
    assert int(replaced.metadata.resource_version) > int(created.metadata.resource_version)

    assert [item.metadata.name for item in core.list_namespaced_config_map(namespace).items] == ["colours"]
    assert core.delete_namespaced_config_map("colours", namespace)["status"] == "Success"
    assert core.list_namespaced_config_map(namespace).items == []


def test_what_is_not_there_is_a_404_with_a_status(core: CoreV1Api, namespace: str) -> None:
    with pytest.raises(ApiException) as caught:
        core.read_namespaced_config_map("nothing", namespace)
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")
    assert json.loads(caught.value.body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "nothing" not found',
        "reason": "NotFound",
        "details": {"name": "nothing", "kind": "configmaps"},
        "code": 404,
    }


def test_a_second_of_the_same_name_and_an_old_version_are_conflicts(core: CoreV1Api, namespace: str) -> None:
    first = core.create_namespaced_config_map(namespace, config_map("colours"))
    with pytest.raises(ApiException) as exists:
        core.create_namespaced_config_map(namespace, config_map("colours"))
    core.patch_namespaced_config_map("colours", namespace, {"data": {"a": "b"}})
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("colours", namespace, first)
    assert [(error.value.status, json.loads(error.value.body)["reason"]) for error in (exists, stale)] == [
        (409, "AlreadyExists"),
        (409, "Conflict"),
    ]


def test_an_invalid_object_tells_every_cause(core: CoreV1Api, namespace: str) -> None:
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_config_map(namespace, {"metadata": {"name": "No"}, "data": {"a/b": "c"}})
    body = json.loads(caught.value.body)
    assert (caught.value.status, body["reason"]) == (422, "Invalid")
    assert {cause["field"] for cause in body["details"]["causes"]} == {"metadata.name", "data[a/b]"}


def test_a_list_comes_in_pages_of_one_moment(core: CoreV1Api, namespace: str) -> None:
    for number in range(7):
        core.create_namespaced_config_map(namespace, config_map(f"page-{number}"))
    names: list[str] = []
    token, versions = None, set()
    while True:
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        versions.add(page.metadata.resource_version)
        if token is None:
            assert page.metadata.remaining_item_count == 4
            core.delete_namespaced_config_map("page-6", namespace)
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"page-{number}" for number in range(7)]
    assert len(versions) == 1


def test_a_watch_goes_on_from_the_version_of_a_list(core: CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("before"))
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("after"))
    core.patch_namespaced_config_map("after", namespace, {"data": {"a": "b"}})
    core.delete_namespaced_config_map("after", namespace)

    watching = watch.Watch()
    seen = []
    for event in watching.stream(
        core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watching.stop()
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "after")]


def test_an_open_watch_sees_what_others_do(core: CoreV1Api, namespace: str, shared_server: Server) -> None:
    begun, seen = threading.Event(), []

    def follow() -> None:
        with connected(shared_server) as api:
            watching = watch.Watch()
            for event in watching.stream(CoreV1Api(api).list_namespaced_config_map, namespace, timeout_seconds=20):
                seen.append((event["type"], event["object"].metadata.name))
                begun.set()
                if event["type"] == "DELETED":
                    watching.stop()

    core.create_namespaced_config_map(namespace, config_map("first"))
    follower = threading.Thread(target=follow)
    follower.start()
    assert begun.wait(20)
    core.create_namespaced_config_map(namespace, config_map("second"))
    core.delete_namespaced_config_map("first", namespace)
    follower.join(20)
    assert seen == [("ADDED", "first"), ("ADDED", "second"), ("DELETED", "first")]


def test_a_watch_ends_when_its_time_is_over(core: CoreV1Api, namespace: str) -> None:
    assert list(watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=1)) == []


def test_namespaces_come_with_their_finalizer_and_terminate(core: CoreV1Api) -> None:
    created: Any = core.create_namespace(V1Namespace(metadata=V1ObjectMeta(name="python-leaving")))
    assert created.spec.finalizers == ["kubernetes"]
    assert created.metadata.labels == {"kubernetes.io/metadata.name": "python-leaving"}
    core.delete_namespace("python-leaving")
    leaving: Any = core.read_namespace("python-leaving")
    assert leaving.status.phase == "Terminating"
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_config_map("python-leaving", config_map("late"))
    assert caught.value.status == 403
    leaving.spec.finalizers = []
    core.replace_namespace_finalize("python-leaving", leaving)
    with pytest.raises(ApiException) as gone:
        core.read_namespace("python-leaving")
    assert gone.value.status == 404


def test_objects_survive_a_restart(new_server: Callable[..., Server], tmp_path: Path) -> None:
    server = new_server().start()
    with connected(server) as api:
        created = CoreV1Api(api).create_namespaced_config_map("default", config_map("kept", a="b"))
    assert server.stop() == 0
    server.start()
    with connected(server) as api:
        assert CoreV1Api(api).read_namespaced_config_map("kept", "default").to_dict() == created.to_dict()
