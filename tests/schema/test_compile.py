"""The walk: what Go's typed codec would do to an object."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.schema.compile import MAX_PROBLEMS, decode, zero
from kapi.schema.empties import as_nothing
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import all_resources, type_of

POD = type_of("", "v1", "Pod")
CONFIG_MAP = type_of("", "v1", "ConfigMap")


def settled(kind: str, value: Any, group: str = "", version: str = "v1") -> Any:
    assert decode(type_of(group, version, kind), value) == []
    return value


def mismatch(kind: str, value: Any, group: str = "") -> str:
    with pytest.raises(TypeMismatch) as caught:
        decode(type_of(group, "v1", kind), value)
    return caught.value.message


def test_unknown_fields_are_dropped_and_reported_by_path_in_order() -> None:
    pod = {
        "metadata": {"name": "p", "labelz": {}},
        "spec": {
            "containers": [{"name": "a"}, {"name": "b", "foo": 1, "env": [{"name": "A", "vale": "x"}]}],
            "bar": {"deep": [{}]},
        },
        "Kind": "x",
    }
    assert decode(POD, pod) == [
        "metadata.labelz",
        "spec.containers[1].foo",
        "spec.containers[1].env[0].vale",
        "spec.bar",
        "Kind",
    ]
    assert pod["spec"]["containers"][1] == {"name": "b", "env": [{"name": "A"}], "resources": {}}  # type: ignore[index]
    assert "bar" not in pod["spec"] and "Kind" not in pod


def test_unknown_fields_in_maps_are_named_by_key() -> None:
    crd = {
        "spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a.b": {"type": "object", "foo": 1}}}}}]}
    }
    type_ = type_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert decode(type_, crd) == ["spec.versions[0].schema.openAPIV3Schema.properties.a.b.foo"]


def test_no_more_unknown_fields_are_kept_than_upstream_keeps() -> None:
    value = {f"f{n}": n for n in range(100_000)}
    assert len(decode(CONFIG_MAP, value)) == MAX_PROBLEMS
    assert value == {"metadata": {}}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("ConfigMap", {"data": {"a": 1}}, "number into Go struct field ConfigMap.data of type string"),
        ("ConfigMap", {"data": "x"}, "string into Go struct field ConfigMap.data of type map[string]string"),
        ("ConfigMap", {"immutable": "x"}, "string into Go struct field ConfigMap.immutable of type bool"),
        ("ConfigMap", {"metadata": []}, "array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (
            "ConfigMap",
            {"metadata": {"uid": 1}},
            "number into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        (
            "Pod",
            {"spec": {"containers": {}}},
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            {"spec": {"containers": ["x"]}},
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "PersistentVolumeClaim",
            {"spec": {"accessModes": [5]}},
            "number into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type "
            "v1.PersistentVolumeAccessMode",
        ),
        ("Pod", {"spec": {"priority": True}}, "bool into Go struct field PodSpec.spec.priority of type int32"),
        ("Pod", {"spec": {"priority": 1.5}}, "number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        (
            "Pod",
            {"spec": {"priority": 1 << 31}},
            "number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            {"spec": {"restartPolicy": 5}},
            "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "Pod",
            {"spec": {"containers": [{"ports": [{"containerPort": "x"}]}]}},
            "string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            "Pod",
            {"spec": {"volumes": [{"emptyDir": []}]}},
            "array into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            "ResourceQuota",
            {"spec": {"hard": []}},
            "array into Go struct field ResourceQuotaSpec.spec.hard of type v1.ResourceList",
        ),
        ("Secret", {"data": {"a": 1}}, "number into Go struct field Secret.data of type []uint8"),
        ("Secret", {"data": {"a": [1, "x"]}}, "string into Go struct field Secret.data of type uint8"),
        ("Secret", {"data": {"a": [None, 300]}}, "number 300 into Go struct field Secret.data of type uint8"),
        (
            "PersistentVolume",
            {"spec": {"accessModes": [7]}},
            "number into Go struct field PersistentVolumeSpec.spec.accessModes of type v1.PersistentVolumeAccessMode",
        ),
        (
            "PersistentVolumeClaim",
            {"status": {"allocatedResourceStatuses": {"storage": 1}}},
            "number into Go struct field PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type "
            "v1.ClaimResourceStatus",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named_as_go_names_it(kind: str, value: Any, message: str) -> None:
    assert mismatch(kind, value) == f"json: cannot unmarshal {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"metadata": {"name": 5, "creationTimestamp": "x"}}, 'parsing time "x" as'),
        ({"metadata": {"name": 5}, "spec": {"overhead": {"cpu": "x"}}}, "quantities must match"),
        (
            {"metadata": {"name": 5, "deletionTimestamp": 7}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.deletionTimestamp of type string",
        ),
        (
            {"metadata": {"name": 5, "labels": []}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
    ],
)
def test_a_type_that_reads_by_itself_has_the_last_word(value: Any, message: str) -> None:
    assert mismatch("Pod", value).startswith(message)


@pytest.mark.parametrize(
    ("text", "byte"), [("***", 0), ("AAA", 0), ("AAAA*", 4), ("AA=", 3), ("AA=A", 2), ("AA==A", 4), ("A", 0), ("=", 0)]
)
def test_bad_base64_is_reported_by_its_byte(text: str, byte: int) -> None:
    assert mismatch("Secret", {"data": {"k": text}}) == f"illegal base64 data at input byte {byte}"


def test_base64_is_written_canonically() -> None:
    assert settled("Secret", {"data": {"k": "AB\n==", "z": "", "n": None}})["data"] == {"k": "AA==", "z": "", "n": ""}


def test_quantities_and_times_are_written_canonically() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {"cpu": "1000m", "memory": 0.5}}}]}}
    settled("Pod", pod)
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "500m"}
    event = settled(
        "Event", {"firstTimestamp": "2024-05-01T10:00:00+02:00", "eventTime": "2024-05-01T10:00:00.000001Z"}
    )
    assert (event["firstTimestamp"], event["eventTime"]) == ("2024-05-01T08:00:00Z", "2024-05-01T10:00:00.000001Z")
    assert event["lastTimestamp"] is None


def test_bad_quantities_and_times_fail_without_a_path() -> None:
    limits = {"spec": {"containers": [{"resources": {"limits": {"cpu": {}}}}]}}
    assert mismatch("Pod", limits).startswith("quantities must match")
    assert mismatch("Event", {"firstTimestamp": "junk"}).startswith('parsing time "junk" as ')
    expected = "json: cannot unmarshal number into Go struct field Event.firstTimestamp of type string"
    assert mismatch("Event", {"firstTimestamp": 5}) == expected


def test_an_integer_or_a_string_takes_either_and_nothing_else() -> None:
    budget = settled("PodDisruptionBudget", {"spec": {"minAvailable": "50%", "maxUnavailable": 1}}, "policy")
    assert budget["spec"] == {"minAvailable": "50%", "maxUnavailable": 1}
    wrong = mismatch("PodDisruptionBudget", {"spec": {"minAvailable": 1.5}}, "policy")
    assert wrong.endswith("number 1.5 into Go struct field PodDisruptionBudgetSpec.spec.minAvailable of type int32")


def test_null_is_as_good_as_absent() -> None:
    pod = {
        "metadata": None,
        "spec": {"containers": [None], "nodeName": None, "volumes": None, "priority": None},
        "status": None,
    }
    assert settled("Pod", pod) == {
        "metadata": {},
        "spec": {"containers": [{"name": "", "resources": {}}]},
        "status": {},
    }
    assert settled("ConfigMap", {"data": {"a": None}})["data"] == {"a": ""}


def test_what_is_empty_and_optional_is_left_out() -> None:
    value = {"data": {}, "immutable": False, "metadata": {"name": "", "labels": {}, "finalizers": [], "generation": 0}}
    # `immutable` is a pointer: false is not the same as not set.
    assert settled("ConfigMap", value) == {"immutable": False, "metadata": {}}


def test_what_is_mandatory_is_written_even_when_empty() -> None:
    assert settled("Role", {}, "rbac.authorization.k8s.io") == {"rules": None, "metadata": {}}
    assert settled("Service", {})["status"] == {"loadBalancer": {}}
    assert zero(type_of("apps", "v1", "Deployment"))["spec"]["selector"] is None


def test_an_empty_list_that_was_given_is_known_until_it_is_stored_as_null() -> None:
    role = settled("Role", {"rules": []}, "rbac.authorization.k8s.io")
    assert role["rules"] == []
    assert orjson.loads(orjson.dumps(role, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS))["rules"] is None


def test_declared_defaults_are_written_but_not_gos_zero_values() -> None:
    service = settled("Service", {"spec": {"ports": [{"port": 80}, {"port": 81, "protocol": "UDP"}]}})
    assert [p["protocol"] for p in service["spec"]["ports"]] == ["TCP", "UDP"]
    assert settled("ReplicationController", {})["spec"] == {"replicas": 1}
    assert settled("Namespace", {}) == {"metadata": {}, "spec": {}, "status": {}}


def test_untyped_values_are_kept_as_they_are() -> None:
    data = {"x": [None, {"y": 1.5}], "z": None}
    revision = settled("ControllerRevision", {"revision": 1, "data": copy.deepcopy(data)}, "apps")
    assert revision["data"] == data


def test_the_odd_types_of_crd_schemas_take_what_upstream_takes() -> None:
    schema = {
        "items": {"type": "string", "foo": 1},
        "additionalProperties": False,
        "minimum": 1.0,
        "dependencies": {"a": ["b"]},
    }
    crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    settled("CustomResourceDefinition", crd, "apiextensions.k8s.io")
    assert schema == {
        "items": {"type": "string"},
        "additionalProperties": False,
        "minimum": 1,
        "dependencies": {"a": ["b"]},
    }
    wrong = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": 5}}}]}}
    assert mismatch("CustomResourceDefinition", wrong, "apiextensions.k8s.io") == "boolean or JSON schema expected"


def test_the_zero_value_of_every_kind_is_settled() -> None:
    for resource in all_resources():
        type_ = type_of(resource.group, resource.version, resource.kind)
        value = zero(type_)
        assert decode(type_, copy.deepcopy(value)) == []
        again = copy.deepcopy(value)
        decode(type_, again)
        assert again == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 40), 1 << 40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "value", "key"]), inner, max_size=3)
    ),
    max_leaves=6,
)
pod_like = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.dictionaries(st.sampled_from(["name", "labels", "finalizers", "zzz"]), json_values, max_size=3),
        "spec": st.dictionaries(
            st.sampled_from(["containers", "volumes", "nodeName", "priority", "overhead", "nodeSelector"]),
            json_values,
            max_size=4,
        ),
        "status": json_values,
    },
)


@given(pod_like)
def test_what_was_settled_once_stays_as_it_is(value: Any) -> None:
    try:
        decode(POD, value)
    except TypeMismatch:
        return
    once = copy.deepcopy(value)
    assert decode(POD, value) == []
    assert value == once
