"""How refused patches show the object that they made."""

from __future__ import annotations

from typing import Any

import pytest

from kapi.endpoints.patch_shown import shown, touched_by_merge, touched_by_operations
from kapi.endpoints.restored import problem, whole
from kapi.schema.loader import type_of

QUANTITY = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
POD = type_of("", "v1", "Pod")
DEPLOYMENT = type_of("apps", "v1", "Deployment")


def test_what_a_merge_left_alone_is_written_as_a_struct_and_what_it_went_through_by_name() -> None:
    new = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"uid": "u", "namespace": "n", "name": "d"},
        "spec": {
            "template": {"spec": {"restartPolicy": "Always", "containers": [{"image": "i", "name": "c"}]}},
            "replicas": 2.0,
        },
    }
    assert shown(new, touched_by_merge({"spec": {"replicas": 2.0}}), DEPLOYMENT) == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"n","uid":"u"},'
        '"spec":{"replicas":2.0,"template":{"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Always"}}}}'
    )


def test_text_is_escaped_as_go_escapes_it_for_html() -> None:
    new = {"data": {"a": "1 < 2 && 3 > 2"}}
    assert shown(new, None, None) == r'{"data":{"a":"1 \u003c 2 \u0026\u0026 3 \u003e 2"}}'


def test_the_structs_of_api_services_are_written_in_their_order_too() -> None:
    service = type_of("apiregistration.k8s.io", "v1", "APIService")
    new = {
        "kind": "APIService",
        "metadata": 5,
        "spec": {"version": "v1", "group": "g", "service": {"port": 443, "name": "s", "namespace": "n"}},
    }
    assert shown(new, touched_by_merge({"metadata": 5}), service) == (
        '{"kind":"APIService","metadata":5,"spec":{"service":{"namespace":"n","name":"s","port":443},"group":"g",'
        '"version":"v1"}}'
    )


def test_lists_that_a_merge_gave_are_written_by_name() -> None:
    containers = [{"name": "c", "image": "i"}]
    touched = touched_by_merge({"spec": {"containers": containers}})
    assert (
        shown({"spec": {"containers": containers}}, touched, POD)
        == '{"spec":{"containers":[{"image":"i","name":"c"}]}}'
    )


def test_what_an_operation_gave_stays_as_it_was_sent() -> None:
    given = {"b": "1", "a": "2"}
    touched = touched_by_operations([{"op": "add", "path": "/metadata/labels", "value": given}])
    new = {"metadata": {"name": "p", "labels": given, "annotations": {"z": "", "y": ""}}}
    assert shown(new, touched, POD) == (
        '{"metadata":{"annotations":{"y":"","z":""},"labels":{"b":"1","a":"2"},"name":"p"}}'
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"metadata": {"labels": [1]}}, "cannot restore map from slice"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"spec": {"containers": {}}}, "cannot restore slice from map"),
        ({"spec": {"containers": [{"imagePullPolicy": 1}]}}, "cannot convert int64 to v1.PullPolicy"),
        ({"spec": {"hostNetwork": "yes"}}, "unrecognized type: bool"),
        ({"spec": {"priority": "5"}}, "unrecognized type: int32"),
        ({"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
        # The first in the order of the struct, not of the document.
        ({"spec": {"priority": "5", "containers": 1}}, "cannot restore slice from int64"),
        ({"spec": {"priority": 5, "terminationGracePeriodSeconds": None}}, None),
        # Types with a form of their own are read by themselves.
        ({"metadata": {"creationTimestamp": 5}}, "json: cannot unmarshal number into Go value of type string"),
        ({"spec": {"overhead": {"cpu": 1.5}}}, None),
        ({"spec": {"overhead": {"cpu": "1x"}}}, f"quantities must match the regular expression {QUANTITY}"),
        (
            {"spec": {"containers": [{"livenessProbe": {"tcpSocket": {"port": True}}}]}},
            "json: cannot unmarshal bool into Go value of type int32",
        ),
    ],
)
def test_a_merged_object_that_is_not_its_type_is_told_of_in_the_converters_words(value: Any, why: str | None) -> None:
    assert problem(value, POD) == why


def test_bytes_are_text_or_small_numbers() -> None:
    secret = type_of("", "v1", "Secret")
    assert problem({"data": {"a": "YQ=="}}, secret) is None
    assert problem({"data": {"a": "!"}}, secret) == "error decoding from json: illegal base64 data at input byte 0"
    assert problem({"data": {"a": ["b"]}}, secret) == "unrecognized type: uint8"


@pytest.mark.parametrize(
    ("given", "short", "long"),
    [(2**31, -(2**31), 2**31), (2**32 + 80, 80, 2**32 + 80), (2**63, 0, -(2**63)), (1e19, 0, -(2**63))],
)
def test_numbers_are_cut_to_the_size_of_their_field(given: float, short: int, long: int) -> None:
    spec = {"priority": given, "terminationGracePeriodSeconds": given}
    assert whole({"spec": spec}, POD) == {"spec": {"priority": short, "terminationGracePeriodSeconds": long}}


def test_whole_numbers_may_be_written_with_a_fraction() -> None:
    value = {"spec": {"priority": 2.0, "containers": [{"ports": [{"containerPort": 80.0}]}]}}
    assert whole(value, POD) == {"spec": {"priority": 2, "containers": [{"ports": [{"containerPort": 80}]}]}}
    assert whole({"spec": {"priority": 2.5}}, POD) == {"spec": {"priority": 2.5}}


def test_numbers_that_are_too_large_lose_what_go_does_not_keep() -> None:
    value = {"spec": {"priority": 2**40 + 5, "terminationGracePeriodSeconds": 2**40}}
    assert whole(value, POD) == {"spec": {"priority": 5, "terminationGracePeriodSeconds": 2**40}}
    assert whole({"spec": {"priority": 2**31}}, POD) == {"spec": {"priority": -(2**31)}}
    assert whole({"spec": {"priority": True}}, POD) == {"spec": {"priority": True}}
