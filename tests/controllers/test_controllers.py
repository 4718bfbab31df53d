"""The controllers in process, seen through the API of a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from kubernetes import config, watch
from kubernetes.client import ApiException, CoreV1Api, V1ConfigMap, V1Namespace, V1ObjectMeta

from tests.server_process import Server

PATIENCE = 30


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    return new_server("--in-process-controllers=all").start()


@pytest.fixture
def core(server: Server) -> Iterator[CoreV1Api]:
    with config.new_client_from_config(str(server.kubeconfig())) as found:
        yield CoreV1Api(found)


def create_namespace(core: CoreV1Api, name: str) -> None:
    core.create_namespace(V1Namespace(metadata=V1ObjectMeta(name=name)))


def wait_for(core: CoreV1Api, name: str, condition: Callable[[str, V1Namespace], bool]) -> V1Namespace:
    """The first state of a namespace that the condition holds for, told by a watch."""
    selector = f"metadata.name={name}"
    for event in watch.Watch().stream(core.list_namespace, field_selector=selector, timeout_seconds=PATIENCE):
        if condition(event["type"], event["object"]):
            return event["object"]
    raise AssertionError(f"it never came to that with namespace {name}")


def wait_until_gone(core: CoreV1Api, name: str) -> None:
    selector = f"metadata.name={name}"
    found = core.list_namespace(field_selector=selector)
    if found.items:
        version = found.metadata.resource_version
        told = watch.Watch().stream(
            core.list_namespace, field_selector=selector, resource_version=version, timeout_seconds=PATIENCE
        )
        assert any(event["type"] == "DELETED" for event in told), f"namespace {name} stayed"


def appeared(core: CoreV1Api, list_: Callable[..., object], namespace: str, name: str) -> object:
    selector = f"metadata.name={name}"
    for event in watch.Watch().stream(list_, namespace, field_selector=selector, timeout_seconds=PATIENCE):
        return event["object"]
    raise AssertionError(f"{name} did not appear in {namespace}")


def test_every_namespace_has_a_default_account_and_gets_it_back(core: CoreV1Api) -> None:
    create_namespace(core, "new")
    first = appeared(core, core.list_namespaced_service_account, "new", "default")
    core.delete_namespaced_service_account("default", "new")
    second = appeared(core, core.list_namespaced_service_account, "new", "default")
    assert first.metadata.uid != second.metadata.uid


def test_every_namespace_has_the_root_certificates(core: CoreV1Api, server: Server) -> None:
    create_namespace(core, "new")
    published = appeared(core, core.list_namespaced_config_map, "new", "kube-root-ca.crt")
    assert published.data["ca.crt"] == server.serving[0].read_text()


def test_a_deleted_namespace_goes_with_a_thousand_objects(core: CoreV1Api) -> None:
    create_namespace(core, "full")

    def fill(part: int) -> None:
        for i in range(250):
            core.create_namespaced_config_map("full", V1ConfigMap(metadata=V1ObjectMeta(name=f"c-{part}-{i}")))

    threads = [threading.Thread(target=fill, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    core.delete_namespace("full")
    wait_until_gone(core, "full")
    assert core.list_namespaced_config_map("full").items == []
    with pytest.raises(ApiException, match="404"):
        core.read_namespace("full")


def test_what_holds_a_namespace_back_is_told_in_its_conditions(core: CoreV1Api) -> None:
    create_namespace(core, "held")
    metadata = V1ObjectMeta(name="holder", finalizers=["example.com/wait"])
    core.create_namespaced_config_map("held", V1ConfigMap(metadata=metadata))
    core.delete_namespace("held")

    def reported(_: str, found: V1Namespace) -> bool:
        conditions = {c.type: c for c in found.status.conditions or ()}
        remaining = conditions.get("NamespaceFinalizersRemaining")
        return remaining is not None and remaining.status == "True"

    held = wait_for(core, "held", reported)
    messages = {c.type: c.message for c in held.status.conditions}
    assert "configmaps. has 1 resource instances" in messages["NamespaceContentRemaining"]
    assert "example.com/wait in 1 resource instances" in messages["NamespaceFinalizersRemaining"]
    core.patch_namespaced_config_map("holder", "held", {"metadata": {"finalizers": None}})
    wait_until_gone(core, "held")


def test_a_deletion_goes_on_after_a_crash(core: CoreV1Api, server: Server) -> None:
    create_namespace(core, "held")
    metadata = V1ObjectMeta(name="holder", finalizers=["example.com/wait"])
    core.create_namespaced_config_map("held", V1ConfigMap(metadata=metadata))
    core.delete_namespace("held")
    server.process.kill()
    server.exit_status()
    server.start()
    core.patch_namespaced_config_map("holder", "held", {"metadata": {"finalizers": None}})
    wait_until_gone(core, "held")


def test_without_the_flag_a_controller_manager_is_left_to_do_it(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    with config.new_client_from_config(str(server.kubeconfig())) as found:
        assert not CoreV1Api(found).list_service_account_for_all_namespaces().items
    with server.client() as direct:
        assert "in-process-controllers" not in direct.text("/readyz?verbose")[1]


def test_an_unknown_controller_is_refused_with_those_there_are(new_server: Callable[..., Server]) -> None:
    server = new_server("--in-process-controllers=cronjob").launch()
    assert server.exit_status() == 1
    assert "there is no controller cronjob" in server.said
    assert "serviceaccount" in server.said
