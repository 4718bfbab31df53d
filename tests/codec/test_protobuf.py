"""Protobuf from and to plain dicts: what Go writes, what it reads, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.errors import BadRequest
from kapi.api.gvk import GroupVersionKind
from kapi.codec.decode import PROTOBUF, decode_object, decode_options, decode_untyped
from kapi.codec.protobuf import (
    NoMessage,
    encode_object,
    envelope_head,
    list_parts,
    message_writer,
    watch_frame,
)

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
HEAD = b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap"

# As Go's client writes them, next to their JSON.
WRITTEN_BY_GO: list[tuple[str, dict[str, Any]]] = [
    (
        "6b3873000a0f0a0276311209436f6e6669674d617012250a110a017812001a0022002a0032003800420012060a016112013112060a016212"
        "013220001a002200",
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "x"},
            "immutable": False,
            "data": {"b": "2", "a": "1"},
        },
    ),
    (
        "6b3873000a0d0a02763112075365727669636512500a110a017312001a0022002a0032003800420012370a130a0012001850220908011000"
        "1a0377656228000a100a00120018512206080010001a0028001a0022003a00420052005a00600068001a020a001a002200",
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80, "targetPort": "web"}, {"port": 81, "targetPort": 0}]},
            "status": {"loadBalancer": {}},
        },
    ),
    (
        "6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c65617365122b0a110a016c12001a0022002a0032003800"
        "42001216220908a5ebdcca0610f02e28ffffffffffffffffff011a002200",
        {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": {"name": "l"},
            "spec": {"renewTime": "2026-01-02T03:04:05.000006Z", "leaseTransitions": -1},
        },
    ),
    (
        "6b3873000a090a0276311203506f64127b0a110a017012001a0022002a0032003800420012510a090a0176120412020a0012280a01631200"
        "2a00420f0a0d0a0363707512060a043530306d6a007200800100880100900100a201001a00320042004a0052005800600068008201008a01"
        "009a0100c201001a130a001a0022002a0032004a005a0072008801001a002200",
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
            "status": {},
        },
    ),
]


def gvk_of(value: dict[str, Any]) -> GroupVersionKind:
    group, _, version = value["apiVersion"].rpartition("/")
    return GroupVersionKind(group, version, value["kind"])


def field(tag: bytes, content: bytes) -> bytes:
    """A tag, the length of the content in two bytes, and the content."""
    return tag + bytes((len(content) & 127 | 128, len(content) >> 7)) + content


def config_map(message: bytes) -> bytes:
    return HEAD + field(b"\x12", message)


def decoded(message: bytes) -> dict[str, Any]:
    found = decode_object(config_map(message), PROTOBUF, CONFIG_MAP).object
    del found["kind"], found["apiVersion"]
    return found


def refusal(data: bytes) -> str:
    with pytest.raises(BadRequest) as caught:
        decode_object(data, PROTOBUF, CONFIG_MAP)
    return caught.value.message


def refused(message: bytes) -> str:
    return refusal(config_map(message)).removeprefix('ConfigMap in version "v1" cannot be handled as a ConfigMap: ')


# What Go writes


@pytest.mark.parametrize(("data", "value"), WRITTEN_BY_GO, ids=lambda v: v["kind"] if isinstance(v, dict) else "")
def test_an_object_is_written_byte_for_byte_as_go_writes_it(data: str, value: dict[str, Any]) -> None:
    assert encode_object(value).hex() == data


@pytest.mark.parametrize(("data", "value"), WRITTEN_BY_GO, ids=lambda v: v["kind"] if isinstance(v, dict) else "")
def test_what_go_always_writes_is_not_taken_for_set(data: str, value: dict[str, Any]) -> None:
    from_json = decode_object(json.dumps(value).encode(), "application/json", gvk_of(value)).object
    assert decode_object(bytes.fromhex(data), PROTOBUF, gvk_of(value)).object == from_json


def test_a_pointer_keeps_the_zero_it_points_to() -> None:
    assert decoded(b"\x20\x00") == {"metadata": {}, "immutable": False}


def test_a_status_is_written_with_its_details() -> None:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "details": {"name": "x", "causes": [{"reason": "R", "field": "f"}], "retryAfterSeconds": 3},
        "code": 404,
    }
    details = b"\n\x01x\x12\x00\x1a\x00\x22\x08\n\x01R\x12\x00\x1a\x01f(\x032\x00"
    message = b"\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x00\x22\x00*\x15" + details + b"0\x94\x03"
    assert encode_object(status) == b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12\x2f" + message + b"\x1a\x00\x22\x00"


def test_discovery_has_documents_without_an_api_version() -> None:
    document = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "pods", "verbs": ["get"]}]}
    assert b"\x22\x05\n\x03get" in encode_object(document)
    assert encode_object(document).startswith(b"k8s\x00\n\x13\n\x00\x12\x0fAPIResourceList")


def test_a_kind_without_a_message_cannot_be_written() -> None:
    with pytest.raises(NoMessage):
        encode_object({"kind": "Widget", "apiVersion": "example.com/v1"})


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_list_in_parts_is_the_list(size: int) -> None:
    items = [{"metadata": {"name": f"n{i}"}, "data": {"k": "v" * i * 40}} for i in range(7)]
    metadata = {"resourceVersion": "12", "remainingItemCount": 0}
    whole = encode_object({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items})
    messages = [message_writer("v1", "ConfigMap")(item) for item in items]
    parts = list(list_parts(envelope_head("v1", "ConfigMapList"), metadata, messages, size))
    assert b"".join(parts) == whole
    assert len(parts) == 2 + -(-len(items) // size)


def test_a_watch_frame_is_a_bare_event_after_its_length() -> None:
    assert watch_frame("ADDED", b"k8s\x00...") == b"\x00\x00\x00\x12\n\x05ADDED\x12\x09\n\x07k8s\x00..."


# What is read


def test_embedded_json_bytes_and_times_take_their_json_form() -> None:
    entry = b'\n\x01m\x22\x08\x08\xcd\xa1\xe6\xbb\x04\x10\x05:\x0b\n\x09{"f:a":1}'
    found = decoded(field(b"\n", field(b"\x8a\x01", entry)) + b"\x1a\x07\n\x01b\x12\x02\x00\xff")
    assert found == {
        "metadata": {"managedFields": [{"manager": "m", "time": "2008-01-01T01:01:01Z", "fieldsV1": {"f:a": 1}}]},
        "binaryData": {"b": "AP8="},
    }


def test_fields_that_nobody_knows_are_skipped() -> None:
    number, text, group = b"\xf8\x01\x07", b"\xfa\x01\x02hi", b"\xfb\x01\x08\x01\xfc\x01"
    unknown = number + b"\xf9\x01" + bytes(8) + b"\xfd\x01" + bytes(4) + text + group
    assert decoded(unknown + b"\x20\x01" + unknown) == {"metadata": {}, "immutable": True}


def test_a_message_that_comes_twice_is_merged_and_a_scalar_replaced() -> None:
    twice = b"\n\x06\n\x01x\x1a\x01n\n\x03\n\x01y\x20\x01\x20\x00"
    assert decoded(twice) == {"metadata": {"name": "y", "namespace": "n"}, "immutable": False}


def test_map_entries_may_be_odd() -> None:
    odd = b"\x12\x00\x12\x06\x12\x01v\n\x01k\x12\x05\n\x01e\x18\x09\x12\x06\n\x01l\x12\x01w"
    assert decoded(odd)["data"] == {"": "", "k": "v", "e": "", "l": "w"}


def test_numbers_may_be_packed_or_not() -> None:
    one_by_one = b"\x20\x01\x20" + b"\xff" * 9 + b"\x01\x20\xac\x02"
    packed = b"\x22\x0d\x01" + b"\xff" * 9 + b"\x01\xac\x02"
    for groups in (one_by_one, packed):
        spec = field(b"\x12", field(b"\x72", groups))
        found = decode_object(b"k8s\x00" + field(b"\x12", spec), PROTOBUF, GroupVersionKind("", "v1", "Pod")).object
        assert found["spec"]["securityContext"] == {"supplementalGroups": [1, -1, 300]}


def test_bytes_that_are_no_text_are_replaced_one_by_one() -> None:
    assert decoded(b"\n\x06\n\x04a\xe2\x82b") == {"metadata": {"name": "a\ufffd\ufffdb"}}


TEXTS = st.dictionaries(st.text(max_size=300), st.text(max_size=300), min_size=1)


@given(
    st.fixed_dictionaries(
        {"metadata": st.fixed_dictionaries({"name": st.text(min_size=1), "labels": TEXTS})},
        optional={"data": TEXTS, "immutable": st.booleans()},
    )
)
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    written = encode_object({"kind": "ConfigMap", "apiVersion": "v1", **value})
    assert decode_object(written, PROTOBUF, CONFIG_MAP).object == {"kind": "ConfigMap", "apiVersion": "v1", **value}


def test_the_schemas_of_a_definition_take_all_their_forms() -> None:
    schema = {
        "type": "object",
        "default": {"a": [1, None]},
        "maximum": 1.5,
        "enum": ["x", None, 3],
        "items": {"type": "string"},
        "properties": {"a": {"items": [{"type": "string"}], "additionalProperties": False}},
        "additionalProperties": {"type": "integer", "minimum": -2},
        "dependencies": {"a": ["b"], "c": {"type": "null"}},
        "x-kubernetes-preserve-unknown-fields": True,
        "$ref": "#/x",
    }
    definition = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "w"},
        "spec": {
            "group": "g",
            "names": {"plural": "w", "kind": "W"},
            "scope": "Cluster",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    found = decode_object(encode_object(definition), PROTOBUF, gvk_of(definition)).object
    assert found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


# Who it is


def test_an_envelope_that_says_nothing_is_what_the_path_says() -> None:
    assert decode_object(b"k8s\x00\x12\x02\x20\x01", PROTOBUF, CONFIG_MAP).object["kind"] == "ConfigMap"


def test_another_kind_is_refused() -> None:
    body = encode_object({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}})
    assert "cannot be handled as a ConfigMap" in refusal(body)


def test_delete_options_are_read() -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}
    found = decode_options(encode_object(options), PROTOBUF, GroupVersionKind("", "v1", "DeleteOptions"))
    assert found["gracePeriodSeconds"] == 0
    assert found["preconditions"] == {"uid": "u"}


def test_a_custom_resource_has_no_protobuf() -> None:
    with pytest.raises(BadRequest, match="does not implement the protobuf marshalling interface"):
        decode_untyped(b"k8s\x00\n\x06\n\x01v\x12\x01W", PROTOBUF, "W")


# What is refused


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty data (<empty>)"),
        (b"k8s\x00", "empty body (6b387300)"),
        (
            b'{"a":1}',
            'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"a":1})',
        ),
        (b"k8s\x00\n\x09", "unexpected EOF (6b3873000a09)"),
        (b"k8s\x00\n\x06\n\x04a/b/", "unexpected GroupVersion string: a/b/ (6b3873000a060a04612f622f)"),
    ],
)
def test_a_body_without_an_envelope_is_unrecognised(data: bytes, why: str) -> None:
    assert refusal(data) == f"the object provided is unrecognized (must be of type ConfigMap): {why}"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"\n\x05\n\x01x", "unexpected EOF"),
        (b"\n\x02\n\x01", "unexpected EOF"),
        (b"\x20", "unexpected EOF"),
        (b"\x20" + b"\xff" * 11, "proto: integer overflow"),
        (b"\n" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field Metadata"),
        (b"\x22\x00", "proto: wrong wireType = 2 for field Immutable"),
        (b"\x00\x01", "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (b"\x24", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\xfe\x01", "proto: illegal wireType 6"),
        (b"\xfb\x01\x08", "unexpected EOF"),
        (b"\n\x0a\x8a\x01\x07:\x05\n\x03{a}", "invalid character 'a' looking for beginning of object key string"),
        (b"\n\x0c\x42\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40", "Time.MarshalJSON: year outside of range [0,9999]"),
    ],
)
def test_a_malformed_message_is_refused_in_the_words_of_go(message: bytes, why: str) -> None:
    assert refused(message) == why


def test_messages_do_not_nest_without_end() -> None:
    schema = b""
    for _ in range(200):
        schema = field(b"\xe2\x01", schema)  # not: {not: {...}}
    for tag in (b"\n", b"\x22", b"\x3a", b"\x12", b"\x12"):
        schema = field(tag, schema)
    gvk = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    with pytest.raises(BadRequest, match="recursion depth"):
        decode_object(b"k8s\x00" + schema, PROTOBUF, gvk)


@given(st.binary(max_size=60))
def test_no_bytes_do_worse_than_be_refused(message: bytes) -> None:
    try:
        decoded(message)
    except BadRequest as error:
        assert error.message
