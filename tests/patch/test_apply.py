"""Server-side apply: ownership, removal, conflicts, what is refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kapi.patch.apply.apply import Applier, apply
from kapi.patch.apply.fieldset import excluding
from kapi.patch.apply.update import track_update
from kapi.patch.errors import ApplyConflict, BadPatch, InvalidApply
from kapi.patch.values import copied
from kapi.schema.types import Type

EARLIER, NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def config(data: Any = None, **metadata: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}} | (
        {"data": data} if data is not None else {}
    )


class ConfigMap:
    """A ConfigMap as the server keeps it, and writes to it."""

    def __init__(self, type: Type) -> None:
        self.type = type
        self.live: Any = None

    def apply(self, manager: str, data: Any = None, *, now: str = NOW, force: bool = False, **metadata: Any) -> None:
        by = Applier(manager=manager, api_version="v1", kind="ConfigMap", now=now, force=force)
        self._keep(apply(self.live, config(data, **metadata), self.type, by))

    def update(self, manager: str, data: Any = None, *, now: str = NOW, **metadata: Any) -> None:
        new = config(data, **metadata)
        track_update(self.live, new, self.type, manager=manager, api_version="v1", now=now)
        self._keep(new)

    def _keep(self, new: Any) -> None:
        new["metadata"]["uid"] = "1"
        self.live = new

    @property
    def data(self) -> Any:
        return self.live.get("data")

    @property
    def entries(self) -> list[Any]:
        return self.live["metadata"].get("managedFields", [])  # type: ignore[no-any-return]

    @property
    def owners(self) -> dict[tuple[str, str], Any]:
        """The data keys that managers own, by manager and operation."""
        return {
            (entry["manager"], entry["operation"]): sorted(
                key[2:] for key in entry["fieldsV1"].get("f:data", {}) if key != "."
            )
            for entry in self.entries
        }


@pytest.fixture
def stored(config_map: Type) -> ConfigMap:
    return ConfigMap(config_map)


def test_creating_by_apply_owns_what_was_given(stored: ConfigMap) -> None:
    stored.apply("m1", {"b": "2", "a": "1"}, labels={"l": "1"})
    assert stored.data == {"a": "1", "b": "2"}
    (entry,) = stored.entries
    assert (entry["manager"], entry["operation"], entry["time"]) == ("m1", "Apply", NOW)
    assert repr(entry["fieldsV1"]) == repr({"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}})


def test_applying_the_same_again_returns_the_same_object(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1"}, now=EARLIER)
    before = copied(stored.live)
    stored.apply("m1", {"a": "1"})
    assert stored.live == before


def test_a_field_left_out_is_removed(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1", "b": "2"}, labels={"l": "1"}, finalizers=["x/y"])
    stored.apply("m1", {"a": "1"})
    assert stored.live["metadata"].keys() == {"name", "uid", "managedFields"}
    assert stored.data == {"a": "1"}
    assert stored.owners == {("m1", "Apply"): ["a"]}


def test_owners_that_agree_share_a_field_and_the_last_one_removes_it(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1", "c": "3"})
    stored.apply("m2", {"a": "1", "d": "4"})
    stored.apply("m1", {"c": "3"})
    assert stored.data == {"a": "1", "c": "3", "d": "4"}
    assert stored.owners == {("m1", "Apply"): ["c"], ("m2", "Apply"): ["a", "d"]}
    stored.apply("m2", {"d": "4"})
    assert stored.data == {"c": "3", "d": "4"}


def test_a_manager_that_applies_nothing_any_more_is_gone(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1"})
    stored.apply("m1")
    assert "managedFields" not in stored.live["metadata"]
    assert not stored.data


def test_joining_the_owners_of_what_is_there_has_no_time(stored: ConfigMap) -> None:
    stored.update("u1", {"a": "1"}, now=EARLIER)
    stored.apply("m1", {"a": "1"})
    assert [("time" in entry) for entry in stored.entries] == [False, True]
    stored.apply("m1", {"a": "1", "b": "2"}, now=LATER)
    assert [entry.get("time") for entry in stored.entries] == [LATER, EARLIER]


def test_an_update_takes_fields_from_appliers(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1"})
    stored.update("u1", {"a": "9", "b": "2"})
    assert stored.owners == {("u1", "Update"): ["a", "b"]}


def test_a_field_that_an_updater_owns_is_not_removed_by_an_applier_leaving_it(stored: ConfigMap) -> None:
    stored.update("u1", {"a": "1"})
    stored.apply("m1", {"a": "1"})
    stored.apply("m1", {"b": "2"})
    assert stored.data == {"a": "1", "b": "2"}


def test_a_field_that_lost_its_applier_to_an_update_stays(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1", "b": "1"})
    stored.update("u1", {"a": "9", "b": "1"})
    stored.apply("m1", {"c": "1"})
    assert stored.data == {"a": "9", "c": "1"}


def test_one_conflict_is_told_in_one_line(stored: ConfigMap) -> None:
    stored.update("upd", {"a": "1"})
    with pytest.raises(ApplyConflict) as refused:
        stored.apply("m1", {"a": "2"})
    assert refused.value.code == 409
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "upd" using v1: .data.a'
    assert refused.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "upd" using v1', "field": ".data.a"}
    ]
    assert stored.data == {"a": "1"}


def test_conflicts_are_grouped_by_manager(stored: ConfigMap) -> None:
    stored.apply("two", {"b": "1", "a": "1"})
    stored.apply("one", {"a": "1"})
    with pytest.raises(ApplyConflict) as refused:
        stored.apply("m1", {"a": "2", "b": "2", "c": "2"})
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\nconflicts with "two":\n- .data.a\n- .data.b'
    )
    assert len(refused.value.causes) == 3


def test_a_manager_conflicts_with_its_own_updates(stored: ConfigMap) -> None:
    stored.update("same", {"a": "1"})
    with pytest.raises(ApplyConflict):
        stored.apply("same", {"a": "2"})
    stored.apply("same", {"a": "2"}, force=True)
    assert stored.owners == {("same", "Apply"): ["a"], ("same", "Update"): []}


def test_force_takes_the_field(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1", "b": "1"})
    stored.apply("m2", {"a": "2"}, force=True)
    assert stored.data == {"a": "2", "b": "1"}
    assert stored.owners == {("m1", "Apply"): ["b"], ("m2", "Apply"): ["a"]}


def test_before_the_first_apply_everything_belongs_to_one(stored: ConfigMap) -> None:
    stored.update("u1", {"a": "1"})
    stored.update("u1", {"a": "1", "b": "2"}, managedFields=[])
    assert stored.entries == []
    stored.apply("m1", {"b": "2", "c": "3"})
    assert stored.owners == {("m1", "Apply"): ["b", "c"], ("before-first-apply", "Update"): ["a", "b"]}
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        stored.apply("m2", {"a": "x"})


def test_metadata_that_nobody_owns_may_be_applied(stored: ConfigMap) -> None:
    stored.apply("m1", None, creationTimestamp=EARLIER, generation=5, namespace="n")
    assert stored.entries == []


def test_neither_the_live_object_nor_the_configuration_is_touched(stored: ConfigMap) -> None:
    stored.apply("m1", {"a": "1", "b": "2"}, labels={"l": "1"})
    live, applied = stored.live, config({"a": "1", "c": "3"}, labels={"l": "1", "m": "2"})
    before = orjson.dumps([live, applied])
    result = apply(live, applied, stored.type, Applier(manager="m1", api_version="v1", kind="ConfigMap", now=NOW))
    result["data"]["x"] = result["metadata"]["labels"]["x"] = "scribble"
    assert orjson.dumps([live, applied]) == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "v1", "kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "apps/v1", "kind": "ConfigMap"}, "invalid object type: apps/v1, Kind=ConfigMap"),
        (config(managedFields=[]), "metadata.managedFields must be nil"),
    ],
)
def test_a_configuration_of_another_type_is_malformed(config_map: Type, patch: Any, message: str) -> None:
    with pytest.raises(BadPatch) as refused:
        apply(None, patch, config_map, Applier(manager="m", api_version="v1", kind="ConfigMap", now=NOW))
    assert (refused.value.code, refused.value.message) == (400, message)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"unknownField": 1}, ".spec.unknownField: field not declared in schema"),
        ({"nodeName": 1}, ".spec.nodeName: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"nodeName": {"a": ["b"]}},
            ".spec.nodeName: expected string, got &value.valueUnstructured"
            '{Value:map[string]interface {}{"a":[]interface {}{"b"}}}',
        ),
        ({"nodeSelector": []}, ".spec.nodeSelector: expected map, got &{[]}"),
        ({"containers": {}}, ".spec.containers: expected list, got &{map[]}"),
        ({"priority": "1"}, ".spec.priority: expected numeric (int or float), got string"),
        ({"hostNetwork": "yes"}, ".spec.hostNetwork: expected boolean, got &{yes}"),
        (
            {"containers": [{"name": "a"}, {"name": "a"}]},
            '.spec.containers: duplicate entries for key [name="a"]',
        ),
        ({"containers": [None]}, ".spec.containers: element 0: associative list with keys may not have a null element"),
        (
            {"containers": ["x"]},
            ".spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"containers": [{"name": "a", "odd": 1, "image": 2}], "odd": 1},
            'errors:\n  .spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:2}\n'
            '  .spec.containers[name="a"].odd: field not declared in schema\n  .spec.odd: field not declared in schema',
        ),
        (
            {"tolerations": [{"key": 1}]},
            ".spec.tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}",
        ),
        ({"overhead": {"cpu": {}}}, ".spec.overhead.cpu: expected any scalar, got &{map[]}"),
        (
            {"ephemeralContainers": [{"name": "e", "startupProbe": {"tcpSocket": {"port": {}}, "periodSeconds": "x"}}]},
            '.spec.ephemeralContainers[name="e"].startupProbe.periodSeconds: expected numeric (int or float), '
            "got string",
        ),
    ],
)
def test_a_configuration_must_fit_its_type(pod: Type, spec: Any, problem: str) -> None:
    patch = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec}
    with pytest.raises(InvalidApply) as refused:
        apply(None, patch, pod, Applier(manager="m", api_version="v1", kind="Pod", now=NOW))
    assert refused.value.message == f"failed to create typed patch object (n/p; /v1, Kind=Pod): {problem}"
    assert refused.value.code == 500


def test_the_live_object_may_hold_duplicates(deployment: Type) -> None:
    spec = {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A"}]}]}}}
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "uid": "1"}, "spec": spec}
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "b"}}}
    by = Applier(manager="m", api_version="apps/v1", kind="Deployment", now=NOW)
    result = apply(live, patch, deployment, by)
    assert result["spec"] == spec
    first = next(e for e in result["metadata"]["managedFields"] if e["manager"] == "before-first-apply")
    env = first["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']["f:env"]
    assert env == {".": {}, 'k:{"name":"A"}': {}}


def test_status_and_spec_are_owned_through_their_own_endpoints(pod: Type) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    main = Applier(manager="m", api_version="v1", kind="Pod", now=NOW, reset=excluding("status"))
    status = Applier(manager="m", api_version="v1", kind="Pod", now=NOW, subresource="status", reset=excluding("spec"))
    both = {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    live = apply(None, body | both, pod, main)
    live["metadata"]["uid"] = "1"
    live = apply(live, body | both, pod, status)
    assert [(e.get("subresource"), e["fieldsV1"]) for e in live["metadata"]["managedFields"]] == [
        ("status", {"f:status": {"f:phase": {}}}),
        (None, {"f:spec": {"f:nodeName": {}}}),
    ]


def test_kubectl_takes_over_what_it_applied_from_the_client(stored: ConfigMap) -> None:
    applied = orjson.dumps(config({"a": "1", "b": "1"})).decode()
    stored.update("kubectl-client-side-apply", {"a": "1", "b": "2"}, annotations={LAST_APPLIED: applied})
    with pytest.raises(ApplyConflict, match="2 conflicts"):
        stored.apply("someone", {"a": "9", "b": "9"})
    with pytest.raises(ApplyConflict) as refused:
        stored.apply("kubectl", {"a": "9", "b": "9"})
    assert [conflict.path for conflict in refused.value.conflicts] == [".data.b"]
    stored.apply("kubectl", {"a": "9"})
    assert stored.data == {"a": "9", "b": "2"}
    kept = stored.live["metadata"]["annotations"][LAST_APPLIED]
    assert orjson.loads(kept) == config({"a": "9"})
    assert kept.endswith("}\n")


@pytest.mark.parametrize("annotation", ["", "{", "[]", '{"apiVersion":"v2"}', '{"apiVersion":"v1","odd":1}'])
def test_an_unusable_last_configuration_excuses_nothing(stored: ConfigMap, annotation: str) -> None:
    stored.update("client", {"a": "1"}, annotations={LAST_APPLIED: annotation})
    with pytest.raises(ApplyConflict):
        stored.apply("kubectl", {"a": "9"})


def test_a_last_configuration_that_grew_too_large_is_dropped(stored: ConfigMap) -> None:
    stored.update("client", {"a": "1"}, annotations={LAST_APPLIED: "{}"})
    stored.apply("kubectl", {"b": "x" * 300_000})
    assert LAST_APPLIED not in stored.live["metadata"]["annotations"]
