from __future__ import annotations

from typing import Any

import pytest

from kapi.resources.podspec.warnings import template_warnings


def warned(annotations: dict[str, str] | None = None, **spec: Any) -> list[str]:
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [{"name": "c"}]} | spec}
    return template_warnings(template, "spec.template")


def test_a_plain_template_is_not_warned_about() -> None:
    assert warned() == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            'nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {}}]},
            "volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            'imagePullSecrets[1].name: duplicate name "a"',
        ),
        (
            {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]},
            'containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        ),
        (
            {"terminationGracePeriodSeconds": -1},
            "terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
            "topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        ),
        (
            {"hostAliases": [{"ip": "2001:DB8::1"}]},
            'hostAliases[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
        ),
    ],
)
def test_what_is_probably_not_meant_is_told(spec: dict[str, Any], text: str) -> None:
    assert warned(**spec) == [f"spec.template.spec.{text}"]


def test_a_variable_made_of_its_former_value_hides_nothing() -> None:
    variables = [{"name": "PATH", "value": "/a"}, {"name": "PATH", "value": "$(PATH):/b"}]
    assert warned(containers=[{"name": "c", "env": variables}]) == []


def test_files_of_one_volume_that_cover_each_other_are_told() -> None:
    items = [{"key": "a", "path": "dir"}, {"key": "b", "path": "dir/file"}]
    assert warned(volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}]) == [
        'volume "v" (ConfigMap "m"): overlapping paths: "dir/file" with "dir"'
    ]


def test_ports_of_the_same_number_are_told_apart_by_what_they_do() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP", "name": "a"}, {"containerPort": 80, "protocol": "TCP"}]
    assert warned(containers=[{"name": "c", "ports": ports}]) == [
        "spec.template.spec.containers[0].ports[1]: duplicate port definition with "
        "spec.template.spec.containers[0].ports[0]"
    ]


def test_an_annotation_that_has_become_a_field_is_told() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    assert warned({key: "unconfined"}) == [
        f'spec.template.metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]
