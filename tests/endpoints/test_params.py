"""Query parameters of reads: what is taken, what is refused, and in which words."""

from __future__ import annotations

import pytest

from tests.endpoints.conftest import ConfigMaps

UNREADABLE = 'resourceVersion: Invalid value: "{0}": strconv.ParseUint: parsing "{0}": {1}'


@pytest.mark.parametrize(
    ("text", "why"), [("x", "invalid syntax"), ("-1", "invalid syntax"), ("18446744073709551616", "value out of range")]
)
def test_a_version_that_cannot_be_read_is_the_lists_fault_and_the_gets_failure(
    config_maps: ConfigMaps, text: str, why: str
) -> None:
    config_maps.made("a")
    listed = config_maps.call("GET", f"?resourceVersion={text}")
    assert (listed.status, listed.body["message"]) == (400, f"invalid resource version: {UNREADABLE.format(text, why)}")
    got = config_maps.call("GET", f"/a?resourceVersion={text}")
    assert (got.status, got.body["message"]) == (500, UNREADABLE.format(text, why))


def test_a_list_that_is_continued_names_no_version_not_even_a_bad_one(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    config_maps.made("b")
    token = config_maps.call("GET", "?limit=1").body["metadata"]["continue"]
    refused = config_maps.call("GET", f"?limit=1&continue={token}&resourceVersion=x")
    assert (refused.status, refused.body["message"]) == (
        400,
        "specifying resource version is not allowed when using continue",
    )


def test_the_matches_of_versions_are_listed_in_upstreams_order(config_maps: ConfigMaps) -> None:
    refused = config_maps.call("GET", "?resourceVersion=1&resourceVersionMatch=x")
    assert refused.body["message"].endswith('supported values: "Exact", "NotOlderThan", ""')


def test_exports_are_a_thing_of_the_past(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = config_maps.call("GET", "/a?export=true")
    assert (refused.status, refused.body["message"]) == (
        400,
        "the export parameter, deprecated since v1.14, is no longer supported",
    )
    assert config_maps.call("GET", "/a?export=false").status == 200


def test_a_list_is_no_object_and_an_object_no_list(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    partial = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
    listed = config_maps.call("GET", accept=partial.format(""))
    told = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
    assert (listed.status, listed.body["message"]) == (406, told)
    got = config_maps.call("GET", "/a", accept=partial.format("List"))
    told = "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
    assert (got.status, got.body["message"]) == (406, told)


def test_parameters_that_cannot_be_read_are_left_out(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    assert len(config_maps.call("GET", "?labelSelector=%zz").body["items"]) == 1
    assert len(config_maps.call("GET", "?labelSelector=x;y").body["items"]) == 1


def test_a_namespace_has_no_namespaces(config_maps: ConfigMaps) -> None:
    path = config_maps.path.removesuffix("configmaps")
    status, body = config_maps.client.call("GET", f"{path}namespaces")
    assert (status, body["message"]) == (404, "the server could not find the requested resource")


def test_a_watch_continues_nothing(config_maps: ConfigMaps) -> None:
    refused = config_maps.call("GET", "?watch=1&continue=x")
    assert (refused.status, refused.body["message"]) == (
        422,
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
        "resourceVersionMatch is forbidden when continue is provided",
    )
