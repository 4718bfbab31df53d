"""Deletes of what cannot be read, asked of what can."""

from __future__ import annotations

from tests.endpoints.conftest import ConfigMaps

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"


def test_what_can_be_read_is_not_deleted_as_if_it_could_not(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = config_maps.call("DELETE", "/a", {UNSAFE: True})
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["message"].endswith(
        "AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage"
    )
    assert config_maps.call("DELETE", f"/missing?{UNSAFE}=true").status == 404
    assert config_maps.call("GET", "/a").status == 200


def test_an_unsafe_delete_has_no_other_options(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = config_maps.call(
        "DELETE",
        "/a",
        {UNSAFE: True, "gracePeriodSeconds": 1, "preconditions": {"uid": "x"}, "propagationPolicy": "Orphan"},
    )
    told = "Invalid value: true: cannot be set together with ."
    assert [cause["message"] for cause in refused.body["details"]["causes"]] == [
        f"{told}propagationPolicy",
        f"{told}gracePeriodSeconds",
        f"{told}preconditions",
    ]


def test_collections_are_not_deleted_unsafely(config_maps: ConfigMaps) -> None:
    refused = config_maps.call("DELETE", "", {UNSAFE: True})
    (cause,) = refused.body["details"]["causes"]
    assert cause["message"].endswith("is not allowed with DELETECOLLECTION, try again after removing the option")


def test_a_delete_without_a_body_takes_its_preconditions_from_the_query(config_maps: ConfigMaps) -> None:
    metadata = config_maps.made("a")["metadata"]
    for query, told in (
        ("uid=x", f"the UID in the precondition (x) does not match the UID in record ({metadata['uid']})."),
        ("resourceVersion=1", "the ResourceVersion in the precondition (1) does not match"),
    ):
        refused = config_maps.call("DELETE", f"/a?{query}")
        assert refused.status == 409
        assert told in refused.body["message"]
    refused = config_maps.call("DELETE", f"/a?uid=x&{UNSAFE}=true")
    assert refused.body["details"]["causes"][0]["message"].endswith("cannot be set together with .preconditions")
    query = f"uid={metadata['uid']}&resourceVersion={metadata['resourceVersion']}"
    assert config_maps.call("DELETE", f"/a?{query}").status == 200
