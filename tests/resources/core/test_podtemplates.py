from __future__ import annotations

from typing import Any

MERGE = {"content-type": "application/merge-patch+json"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def template(**spec: Any) -> dict[str, Any]:
    given = {"containers": [{"name": "web", "image": "nginx:1.27"}, {"name": "side", "image": "busybox"}]} | spec
    inner = {"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": given}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": inner}


def test_a_template_is_validated_as_the_pods_made_from_it(namespace: Any) -> None:
    path = namespace.path("podtemplates")
    assert namespace.messages("POST", path, template(containers=[], restartPolicy="Often")) == [
        "template.spec.containers: Required value",
        'template.spec.restartPolicy: Unsupported value: "Often": supported values: "Always", "OnFailure", "Never"',
    ]


def test_a_template_is_given_the_defaults_of_a_spec_but_not_those_of_a_pod(namespace: Any) -> None:
    made = namespace.client.create(namespace.path("podtemplates"), template())
    spec = made["template"]["spec"]
    assert (spec["restartPolicy"], "enableServiceLinks" in spec, "tolerations" in spec) == ("Always", False, False)
    assert made["metadata"]["generation"] == 1


def test_what_apply_s_schema_takes_but_the_template_does_not_is_upstream_s_own_failure(namespace: Any) -> None:
    sent = template(activeDeadlineSeconds=1.5)
    path = namespace.path("podtemplates", "t") + "?fieldManager=m"
    status, answer = namespace.client.call("PATCH", path, sent, **{"content-type": "application/apply-patch+yaml"})
    assert (status, answer["message"]) == (
        500,
        "failed to convert new object (/t; /v1, Kind=PodTemplate) to proper version: unable to convert unstructured "
        "object to /v1, Kind=PodTemplate: cannot convert float64 to int64",
    )


def test_its_generation_rises_with_the_template_only(namespace: Any) -> None:
    namespace.client.create(namespace.path("podtemplates"), template())
    path = namespace.path("podtemplates", "t")
    _, labelled = namespace.client.call("PATCH", path, {"metadata": {"labels": {"x": "y"}}}, **MERGE)
    _, changed = namespace.client.call("PATCH", path, {"template": {"spec": {"hostname": "h"}}}, **MERGE)
    assert [o["metadata"]["generation"] for o in (labelled, changed)] == [1, 2]


def test_a_row_lists_containers_images_and_labels(namespace: Any) -> None:
    namespace.client.create(namespace.path("podtemplates"), template())
    _, table = namespace.client.call("GET", namespace.path("podtemplates", "t"), **TABLE)
    assert table["rows"][0]["cells"] == ["t", "web,side", "nginx:1.27,busybox", "a=1,b=2"]
