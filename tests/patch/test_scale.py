"""The scale subresource: who owns replicas, on the Scale and back on its parent."""

from __future__ import annotations

from typing import Any

from kapi.patch.apply import scale
from kapi.patch.apply.update import track_update
from kapi.schema.loader import type_of

PATHS = {"apps/v1": "spec.replicas"}


def entry(manager: str, operation: str, fields: Any, **more: Any) -> Any:
    common = {"apiVersion": "apps/v1", "time": "t", "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {"manager": manager, "operation": operation, **common, **more}


def deployment(*entries: Any) -> Any:
    return {"metadata": {"name": "d", "managedFields": list(entries)}}


def test_only_owners_of_replicas_show_on_the_scale() -> None:
    parent = deployment(
        entry("one", "Apply", {"f:spec": {"f:replicas": {}, "f:paused": {}}}),
        entry("two", "Apply", {"f:spec": {"f:paused": {}}}),
        entry("old", "Apply", {"f:spec": {"f:replicas": {}}}, apiVersion="apps/v1beta1"),
    )
    (found,) = scale.to_scale(parent, PATHS)
    assert (found["manager"], found["apiVersion"]) == ("one", "autoscaling/v1")
    assert found["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_a_write_through_the_scale_takes_replicas_from_its_owners() -> None:
    parent = deployment(
        entry("one", "Apply", {"f:spec": {"f:replicas": {}, "f:paused": {}}}),
        entry("upd", "Update", {"f:spec": {"f:replicas": {}}}),
    )
    type = type_of("autoscaling", "v1", "Scale")
    metadata = {"name": "d", "uid": "1", "managedFields": scale.to_scale(parent, PATHS)}
    live = {"metadata": metadata, "spec": {"replicas": 1}, "status": {"replicas": 0}}
    new = {"metadata": {"name": "d"}, "spec": {"replicas": 2}, "status": {"replicas": 0}}
    track_update(live, new, type, manager="hpa", api_version="autoscaling/v1", now="now", subresource="scale")
    assert scale.to_parent(parent, new, "apps/v1", PATHS) == [
        entry("one", "Apply", {"f:spec": {"f:paused": {}}}),
        {
            "manager": "hpa",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            "subresource": "scale",
        },
    ]


def test_a_scale_that_changed_nothing_leaves_appliers_as_they_are() -> None:
    owner = entry("one", "Apply", {"f:spec": {"f:replicas": {}}})
    parent = deployment(owner)
    unchanged = {"metadata": {"managedFields": scale.to_scale(parent, PATHS)}}
    assert scale.to_parent(parent, unchanged, "apps/v1", PATHS) == [owner]
