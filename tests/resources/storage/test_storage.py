"""Storage classes, drivers, nodes, attachments and capacities: what each keeps, and what it must say."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "storage.k8s.io/v1"
CLASSES, DRIVERS, ATTACHMENTS = f"{GROUP}:storageclasses", f"{GROUP}:csidrivers", f"{GROUP}:volumeattachments"
NODES, ATTRIBUTES = f"{GROUP}:csinodes", f"{GROUP}:volumeattributesclasses"


def test_a_storage_class_deletes_and_binds_at_once_unless_it_says_otherwise(cluster: Any) -> None:
    made = cluster.made(CLASSES, {"kind": "StorageClass", "provisioner": "example.com/p"})
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")
    answer = cluster.put(CLASSES, {**made, "parameters": {"a": "b"}, "provisioner": "example.com/q"})
    assert answer.problems == [
        "provisioner: Invalid value: null: field is immutable",
        "parameters: Invalid value: null: field is immutable",
    ]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, ["provisioner: Required value"]),
        (
            {"provisioner": "p", "reclaimPolicy": "Keep"},
            ['reclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"'],
        ),
        (
            {"provisioner": "p", "parameters": {f"k{i}": "" for i in range(513)}},
            ["parameters: Too long: may not be more than 512 bytes"],
        ),
        (
            {
                "provisioner": "p",
                "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["x", "x"]}]}],
            },
            ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x"'],
        ),
        (
            {"provisioner": "p", "allowedTopologies": [{}]},
            ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'],
        ),
    ],
)
def test_a_storage_class_is_checked(cluster: Any, fields: Any, wrong: list[str]) -> None:
    assert cluster.problems(CLASSES, {"kind": "StorageClass", **fields}) == wrong


def test_of_the_classes_that_are_marked_a_list_shows_the_youngest_as_the_default(cluster: Any) -> None:
    label = {"of": cluster.name}
    for name, mark in (("b", "true"), ("a", "true"), ("c", "false")):
        metadata = {
            "name": f"{cluster.name}-{name}",
            "labels": label,
            "annotations": {"storageclass.kubernetes.io/is-default-class": mark},
        }
        cluster.made(CLASSES, {"kind": "StorageClass", "provisioner": "p", "metadata": metadata})
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    rows = cluster.call("GET", f"{CLASSES}?labelSelector=of={cluster.name}", **table).body["rows"]
    created = {row["object"]["metadata"]["name"]: row["object"]["metadata"]["creationTimestamp"] for row in rows}
    marked = [f"{cluster.name}-a", f"{cluster.name}-b"]
    # The two were made in one second, or not.
    chosen = marked[0] if created[marked[0]] >= created[marked[1]] else marked[1]
    assert [row["cells"][0] for row in rows if "(default)" in row["cells"][0]] == [f"{chosen} (default)"]
    alone = cluster.call("GET", f"{CLASSES}/{chosen}", **table).body["rows"]
    assert alone[0]["cells"][0] == chosen


def test_a_driver_that_is_not_told_what_it_can_do_gets_defaults(cluster: Any) -> None:
    answer = cluster.call("POST", DRIVERS, {"kind": "CSIDriver", "spec": {"tokenRequests": [{"audience": "a"}]}})
    spec = answer.body["spec"]
    assert (spec["attachRequired"], spec["fsGroupPolicy"], spec["volumeLifecycleModes"]) == (
        True,
        "ReadWriteOnceWithFSType",
        ["Persistent"],
    )
    assert answer.warnings[0].startswith("spec.serviceAccountTokenInSecrets is unset")


def test_a_driver_is_only_updated_by_who_has_seen_it(cluster: Any) -> None:
    made = cluster.made(DRIVERS, {"kind": "CSIDriver"})
    blind = {**made, "metadata": {"name": cluster.name}}
    assert cluster.put(DRIVERS, blind).problems == [
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    ]


def test_of_a_driver_on_a_node_only_its_room_may_change(cluster: Any) -> None:
    driver = {"name": "csi.example.com", "nodeID": "n", "topologyKeys": None}
    made = cluster.made(NODES, {"kind": "CSINode", "spec": {"drivers": [driver]}})
    roomier = {**driver, "allocatable": {"count": 5}}
    grown = cluster.put(NODES, {**made, "spec": {"drivers": [roomier]}})
    assert grown.status == 200
    same = cluster.put(NODES, {**grown.body, "spec": {"drivers": [{**roomier, "topologyKeys": []}]}})
    assert same.status == 200
    moved = cluster.put(NODES, {**same.body, "spec": {"drivers": [{**roomier, "nodeID": "other"}]}})
    assert [problem.partition(":")[0] for problem in moved.problems] == ["spec.drivers"]


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ({}, "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
        (
            {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/"}}},
            "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
        ),
        (
            {
                "inlineVolumeSpec": {
                    "accessModes": ["ReadWriteOnce"],
                    "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
                    "claimRef": {},
                    "volumeAttributesClassName": "Not judged!",
                }
            },
            "spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes",
        ),
    ],
)
def test_an_attachment_names_one_volume(cluster: Any, source: Any, wrong: str) -> None:
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": source}
    assert cluster.problems(ATTACHMENTS, {"kind": "VolumeAttachment", "spec": spec}) == [wrong]


def test_an_attachment_is_checked_but_does_not_change(cluster: Any) -> None:
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    made = cluster.made(ATTACHMENTS, {"kind": "VolumeAttachment", "spec": spec})
    attacher = "spec.attacher: Too long: may not be more than 63"
    long = {**spec, "attacher": "a" * 64}
    assert cluster.put(ATTACHMENTS, {**made, "spec": long}).problems == [
        f"{attacher} bytes",
        "spec: Invalid value: null: field is immutable",
    ]
    # Of declared rules, which come last, one counts bytes and one characters.
    longer = {**spec, "attacher": "a" * 254, "source": {}}
    found = cluster.problems(ATTACHMENTS, {"kind": "VolumeAttachment", "spec": longer})
    assert found[1:] == [
        f'spec.attacher: Invalid value: "{longer["attacher"]}": must be no more than 253 bytes',
        f"{attacher} characters",
    ]


def test_the_status_endpoint_of_an_attachment_leaves_labels_alone(cluster: Any) -> None:
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    made = cluster.made(ATTACHMENTS, {"kind": "VolumeAttachment", "spec": spec})
    made["metadata"]["labels"] = {"sneaked": "in"}
    made["status"] = {"attached": True}
    answer = cluster.call("PUT", f"{ATTACHMENTS}/{cluster.name}/status", made)
    assert answer.body["status"] == {"attached": True} and "labels" not in answer.body["metadata"]
    assert cluster.cells(ATTACHMENTS)["Attached"] is True


def test_attributes_are_given_and_stay(cluster: Any) -> None:
    body = {"kind": "VolumeAttributesClass", "driverName": "csi.example.com"}
    assert cluster.problems(ATTRIBUTES, body) == [
        "parameters: Required value: must contain at least one key/value pair"
    ]
    made = cluster.made(ATTRIBUTES, {**body, "parameters": {"iops": "1"}})
    assert made["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    assert cluster.put(ATTRIBUTES, {**made, "parameters": {"iops": "2"}}).problems == [
        "parameters: Forbidden: updates to parameters are forbidden."
    ]
