from __future__ import annotations

from typing import Any

import pytest

from kapi.resources.podspec.defaults import default_pod_spec, default_pod_template
from kapi.resources.podspec.images import pull_policy

DIGEST = "@sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("example.com:5000/team/app", "Always"),
        ("example.com:5000/team/app:v1", "IfNotPresent"),
        ("nginx" + DIGEST, "IfNotPresent"),
        ("nginx:latest" + DIGEST, "Always"),
        ("nginx:latest@sha256:0123456789abcdef0123456789abcdef", "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
        ("a" * 247, "Always"),
        ("a" * 248, "IfNotPresent"),
        ("example.com/" + "a" * 255, "Always"),
        ("docker.io/" + "a" * 255, "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
        ("a" * 64, "IfNotPresent"),
        ("z" * 64, "Always"),
    ],
)
def test_an_image_is_pulled_always_when_its_tag_may_move(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_a_name_that_is_too_long_names_no_tag() -> None:
    assert pull_policy("a" * 247) == "Always"
    assert pull_policy("a" * 248) == "IfNotPresent", "library/ is a part of it"


def defaulted(**spec: Any) -> dict[str, Any]:
    filled = {"containers": [{"name": "c", "image": "a:1", "resources": {}}]} | spec
    default_pod_spec(filled)
    return filled


def test_an_empty_spec_says_what_happens_anyway() -> None:
    spec = defaulted()
    del spec["containers"]
    assert spec == {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    }


def test_the_older_name_of_the_service_account_follows_the_newer() -> None:
    assert defaulted(serviceAccount="a")["serviceAccountName"] == "a"
    spec = defaulted(serviceAccount="a", serviceAccountName="b")
    assert (spec["serviceAccount"], spec["serviceAccountName"]) == ("b", "b")


def test_a_probe_is_given_its_times_and_path() -> None:
    probe: dict[str, Any] = {"httpGet": {"port": 80}}
    defaulted(containers=[{"name": "c", "image": "a", "livenessProbe": probe}])
    assert probe == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_a_volume_without_a_source_is_an_empty_directory() -> None:
    volumes = [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/"}}]
    spec = defaulted(volumes=volumes)
    assert spec["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 0o644}},
        {"name": "c", "hostPath": {"path": "/", "type": ""}},
    ]


def test_amounts_are_rounded_up_to_thousandths() -> None:
    resources = {"limits": {"cpu": "1u", "memory": "64Mi"}}
    defaulted(containers=[{"name": "c", "image": "a", "resources": resources}])
    assert resources == {"limits": {"cpu": "1m", "memory": "64Mi"}}


def test_defaulting_twice_changes_nothing() -> None:
    template: dict[str, Any] = {"spec": defaulted(volumes=[{"name": "v", "projected": {"sources": [{}]}}])}
    before = repr(template)
    default_pod_template(template)
    assert repr(template) == before
