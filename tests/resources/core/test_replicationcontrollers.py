from __future__ import annotations

from typing import Any

PATH = "v1:replicationcontrollers"


def controller(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
    }
    return {"metadata": {"name": "web"}, "spec": {"template": template} | spec}


def test_a_controller_needs_a_template(api: Any) -> None:
    assert api.create(PATH, controller(template=None)).problems == [
        "spec.selector: Required value",
        "spec.template: Required value",
    ]


def test_what_the_schema_declares_is_checked_last(api: Any) -> None:
    wanted = controller(replicas=-1, selector={"app": "x"})
    assert api.create(PATH, wanted).problems == [
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_its_name_is_checked_by_what_the_schema_declares(api: Any) -> None:
    name = "a" * 254
    wanted = controller(replicas=-1, selector={"app": "x"}) | {"metadata": {"name": name, "finalizers": ["x"]}}
    finalizers, template, *declared = api.create(PATH, wanted).problems
    assert finalizers.startswith("metadata.finalizers[0]: ")
    assert template.startswith("spec.template.metadata.labels: ")
    assert declared == [
        f'metadata.name: Invalid value: "{name}": must be no more than 253 bytes',
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_what_its_name_is_generated_from_is_not_checked(api: Any) -> None:
    assert api.made(PATH, controller() | {"metadata": {"generateName": "a" * 254}})["metadata"]["name"][:58] == "a" * 58


def test_the_labels_of_its_pods_select_them_and_label_it(api: Any) -> None:
    made = api.made(PATH, controller())
    assert (made["spec"]["selector"], made["metadata"]["labels"]) == ({"app": "web"}, {"app": "web"})
    assert api.get(f"{PATH}/web/scale")["status"]["selector"] == "app=web"


def test_it_can_be_selected_by_its_replicas(api: Any) -> None:
    api.made(PATH, controller())
    assert len(api.get(f"{PATH}?fieldSelector=status.replicas=0")["items"]) == 1
    assert not api.get(f"{PATH}?fieldSelector=status.replicas=1")["items"]


def test_deleting_it_orphans_its_pods_unless_told_otherwise(api: Any) -> None:
    api.made(PATH, controller())
    deleted = api.call("DELETE", f"{PATH}/web")
    assert (deleted.body["metadata"]["finalizers"], deleted.warnings) == (["orphan"], [])
