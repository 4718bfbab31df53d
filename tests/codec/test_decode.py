"""Request bodies: recognised, checked, refused in upstream's words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.errors import BadRequest
from kapi.api.gvk import GroupVersionKind
from kapi.codec.decode import Decoded, Strictness, decode_object, decode_options, decode_untyped, summary

JSON = "application/json"
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")
HANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '


def decoded(
    body: Any, expected: GroupVersionKind = CONFIG_MAP, strictness: Strictness = "Warn", media_type: str = JSON
) -> Decoded:
    return decode_object(body if isinstance(body, bytes) else orjson.dumps(body), media_type, expected, strictness)


def refused(
    body: Any, expected: GroupVersionKind = CONFIG_MAP, strictness: Strictness = "Warn", media_type: str = JSON
) -> str:
    with pytest.raises(BadRequest) as caught:
        decoded(body, expected, strictness, media_type)
    return caught.value.message


@pytest.mark.parametrize(
    "body", [{}, None, {"kind": "ConfigMap"}, {"apiVersion": "v1"}, {"apiVersion": "", "kind": ""}, {"kind": None}]
)
def test_what_the_body_leaves_out_comes_from_the_path(body: Any) -> None:
    assert decoded(body).object == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (b" ", "couldn't get version/kind; json parse error: unexpected end of JSON input (20)"),
        (
            b'{"a":}',
            "couldn't get version/kind; json parse error: invalid character '}' looking for beginning of value"
            ' ({"a":})',
        ),
        (b'{"apiVersion": "a/b/c"}', 'unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c"})'),
        (
            b'{"apiVersion": "v1", "kind": 2 }',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind"
            ' of type string ({"apiVersion": "v1", "kind": 2 ...)',
        ),
    ],
)
def test_a_body_that_does_not_say_what_it_is_is_summed_up(body: bytes, reason: str) -> None:
    assert refused(body) == f"the object provided is unrecognized (must be of type ConfigMap): {reason}"


def test_other_kinds_are_refused_by_what_is_known_of_them() -> None:
    scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
    assert refused({"apiVersion": "v1", "kind": "Nonsense"}) == (
        'Nonsense in version "v1" cannot be handled as a ConfigMap: '
        f'no kind "Nonsense" is registered for version "v1" {scheme}'
    )
    assert refused({"apiVersion": "v1", "kind": "ConfigMapList"}) == (
        'ConfigMapList in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion"
    )
    assert refused({"apiVersion": "extensions/v1beta1", "kind": "Deployment"}, DEPLOYMENT) == (
        "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)"
    )
    assert "apiextensions-apiserver/pkg/apiserver" in refused({"apiVersion": "v1", "kind": "ConfigMap"}, CRD)


def test_unknown_fields_are_dropped_and_told_unless_ignored() -> None:
    body = {"metadata": {"name": "x", "foo": 1}, "bar": {}}
    found = decoded(body)
    assert found.warnings == ['unknown field "metadata.foo"', 'unknown field "bar"']
    assert found.object == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}
    assert decoded(body, strictness="Ignore").problems == []
    assert refused(body, strictness="Strict") == (
        f'{HANDLED}strict decoding error: unknown field "metadata.foo", unknown field "bar"'
    )


def test_duplicates_and_unknown_fields_are_told_in_the_order_of_the_text() -> None:
    body = (
        b'{"data":{"a":"1","a":"2"},"zzz":1,"metadata":{"name":"x"},"data":{"b":"3"},"zzz":2,"metadata":{"name":"y"}}'
    )
    found = decoded(body)
    assert found.problems == [
        'duplicate field "data.a"',
        'unknown field "zzz"',
        'duplicate field "data"',
        'duplicate field "metadata"',
    ]
    # The typed decoder fills the same map and struct twice.
    assert found.object["data"] == {"a": "2", "b": "3"}
    assert found.object["metadata"] == {"name": "y"}
    assert decoded(body, strictness="Ignore").object == found.object


def test_numbers_beyond_64_bits_can_be_written_again_however_they_were_read() -> None:
    revision = GroupVersionKind("apps", "v1", "ControllerRevision")
    for spare in (b"", b',"revision":2', b',"z":"\\ud800"'):
        body = b'{"revision":1,"data":{"n":123456789012345678901234567890}' + spare + b"}"
        assert orjson.dumps(decoded(body, revision).object)


def test_duplicates_inside_untyped_values_are_not_told() -> None:
    body = b'{"revision":1,"data":{"a":1,"a":2}}'
    found = decoded(body, GroupVersionKind("apps", "v1", "ControllerRevision"))
    assert found.problems == []
    assert found.object["data"] == {"a": 2}


def test_numbers_are_quoted_as_they_were_written() -> None:
    priority = GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass")
    for text in (b"1e3", b"1.0", b"-0.50", b"123456789012345678901234567890", b"1e400"):
        message = refused(b'{"value":' + text + b"}", priority)
        assert (
            f"cannot unmarshal number {text.decode()} into Go struct field PriorityClass.value of type int32" in message
        )


def test_yaml_is_read_like_json() -> None:
    found = decoded(b"kind: ConfigMap\ndata: {a: '1'}\nnope: 1\ndata: {b: '2'}\n", media_type="application/yaml")
    assert found.object["data"] == {"b": "2"}
    assert found.warnings == ['line 4: key "data" already set in map', 'unknown field "nope"']
    message = refused(b"a: 1\na: 2\n", strictness="Strict", media_type="application/yaml")
    assert message == (
        f"{HANDLED}strict decoding error: yaml: unmarshal errors:\n"
        '  line 2: key "a" already set in map, unknown field "a"'
    )
    found = decoded(b"kind: ConfigMap\nz: 1\na: 1\nB: 1\n", media_type="application/yaml")
    assert found.warnings == ['unknown field "B"', 'unknown field "a"', 'unknown field "z"']
    assert refused(b"data: {a: 1}", media_type="application/yaml").endswith("ConfigMap.data of type string")
    assert refused(b"a: *b", media_type="application/yaml") == (
        "the object provided is unrecognized (must be of type ConfigMap): "
        "yaml: unknown anchor 'b' referenced (613a202a62)"
    )


def test_options_are_refused_without_ceremony() -> None:
    assert decode_options(b'{"gracePeriodSeconds":0,"foo":1}', JSON, OPTIONS) == {"gracePeriodSeconds": 0}
    for body, message in (
        (b"junk", "couldn't get version/kind; json parse error: invalid character 'j' looking for beginning of value"),
        (
            b'{"gracePeriodSeconds":"x"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            b'{"apiVersion":"v1","kind":"ConfigMap"}',
            'no kind "ConfigMap" is registered for version "v1" in scheme '
            '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
        ),
    ):
        with pytest.raises(BadRequest) as caught:
            decode_options(body, JSON, OPTIONS)
        assert caught.value.message == message


def test_custom_resources_are_read_without_a_type() -> None:
    found = decode_untyped(b'{"apiVersion":"x.io/v1","kind":"Foo","spec":{"a":1,"a":2}}', JSON, "Foo")
    assert found.gvk == ("x.io", "v1", "Foo")
    assert found.object["spec"] == {"a": 2}
    assert found.problems == ['duplicate field "spec.a"']
    with pytest.raises(BadRequest) as caught:
        decode_untyped(b'{"apiVersion":"x.io/v1","kind":"Foo","spec":{"n":1e400}}', JSON, "Foo")
    assert caught.value.message == (
        'Foo in version "v1" cannot be handled as a Foo: '
        "json: cannot unmarshal number 1e400 into Go value of type float64"
    )


def test_a_summary_is_short_whatever_the_body() -> None:
    assert summary(b"{" + b"x" * 100) == "{" + "x" * 29 + " ..."
    assert summary(b"\xff" * 100) == "ff" * 30 + " ..."


@given(st.binary(max_size=60), st.sampled_from([JSON, "application/yaml"]))
def test_no_body_does_worse_than_being_refused(body: bytes, media_type: str) -> None:
    try:
        decoded(body, media_type=media_type)
    except BadRequest as error:
        assert error.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["metadata", "data", "binaryData", "immutable", "x"]), json_values))
def test_what_is_decoded_can_be_encoded_and_decodes_to_itself(body: Any) -> None:
    import json

    try:
        once = decoded(json.dumps(body).encode()).object
    except BadRequest:
        return
    again = decoded(orjson.dumps(once))
    assert again.object == once
    assert again.problems == []
