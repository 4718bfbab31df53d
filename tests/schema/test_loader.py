"""The facts that ship with the package."""

from __future__ import annotations

import pytest

from kapi.schema.loader import (
    UnknownType,
    all_resources,
    definition,
    definitions,
    go_name,
    registered_kinds,
    resource_facts,
    type_of,
)


def test_a_resource_is_found_by_kind_and_by_plural() -> None:
    pods = resource_facts("", "v1", "pods")
    assert pods is not None
    assert pods is resource_facts("", "v1", "Pod")
    assert (pods.singular, pods.namespaced, pods.short_names, pods.categories) == ("pod", True, ("po",), ("all",))
    assert "deletecollection" in pods.verbs
    eviction = next(s for s in pods.subresources if s.name == "eviction")
    assert (eviction.group, eviction.version, eviction.kind) == ("policy", "v1", "Eviction")
    assert [c.name for c in pods.columns if c.priority == 0] == ["Name", "Ready", "Status", "Restarts", "Age"]


def test_what_is_not_served_has_no_facts() -> None:
    assert resource_facts("apps", "v1beta1", "deployments") is None
    assert resource_facts("", "v1", "nonsense") is None


def test_every_served_kind_has_a_type() -> None:
    for resource in all_resources():
        assert type_of(resource.group, resource.version, resource.kind).kind == "object"
        for sub in resource.subresources:
            if sub.group or sub.version:
                assert type_of(sub.group, sub.version, sub.kind).kind == "object"


def test_every_type_that_is_referred_to_exists() -> None:
    seen: set[str] = set()
    waiting = [type_of(r.group, r.version, r.kind) for r in all_resources()]
    while waiting:
        type_ = waiting.pop()
        if type_.name and type_.name in seen:
            continue
        seen.add(type_.name)
        waiting += [field.type for field in type_.fields.values()]
        waiting += [type_.element] if type_.element is not None else []
    assert "io.k8s.api.core.v1.PodSpec" in seen


def test_every_group_version_knows_the_options_of_meta() -> None:
    assert type_of("apps", "v1", "DeleteOptions") is type_of("", "v1", "DeleteOptions")
    with pytest.raises(UnknownType):
        type_of("apps", "v1beta1", "Deployment")
    with pytest.raises(UnknownType):
        type_of("", "v1", "Nonsense")


def test_fields_know_how_they_merge() -> None:
    spec = type_of("", "v1", "Pod").fields["spec"].type
    containers = spec.fields["containers"]
    assert containers.patch_strategy == {"merge"}
    assert containers.merge_key == "name"
    assert (containers.type.topology, containers.type.map_keys) == ("map", ("name",))
    ports = containers.type.element.fields["ports"].type  # type: ignore[union-attr]
    assert ports.map_keys == ("containerPort", "protocol")
    assert spec.fields["nodeSelector"].type.topology == "atomic"
    assert spec.fields["tolerations"].type.topology == "atomic"
    strategy = type_of("apps", "v1", "Deployment").fields["spec"].type.fields["strategy"]
    assert strategy.patch_strategy == {"retainKeys"}


def test_a_field_may_merge_otherwise_than_its_type() -> None:
    claim = type_of("", "v1", "PersistentVolume").fields["spec"].type.fields["claimRef"].type
    assert claim.topology == "granular"
    reference = type_of("", "v1", "Endpoints").fields["subsets"].type.element.fields["addresses"].type  # type: ignore[union-attr]
    assert reference.element.fields["targetRef"].type.topology == "atomic"  # type: ignore[union-attr]


def test_types_are_named_as_go_names_them() -> None:
    spec = type_of("", "v1", "Pod").fields["spec"].type
    assert go_name(spec) == "v1.PodSpec"
    assert go_name(spec.fields["containers"].type) == "[]v1.Container"
    assert go_name(spec.fields["nodeSelector"].type) == "map[string]string"


def test_definitions_are_the_openapi_facts() -> None:
    assert definition("io.k8s.api.core.v1.ConfigMap")["properties"]["immutable"] == {"type": "boolean"}
    assert "io.k8s.api.apps.v1.Deployment" in definitions("apps", "v1")
    assert definitions("nonsense", "v1") == {}
    with pytest.raises(UnknownType):
        definition("io.k8s.api.core.v1.Nonsense")


def test_kinds_are_remembered_after_they_are_no_longer_served() -> None:
    assert "Deployment" in registered_kinds("extensions/v1beta1")
    assert "ConfigMapList" in registered_kinds("v1")
    assert registered_kinds("nonsense/v1") == frozenset()
