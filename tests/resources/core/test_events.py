"""Events: two APIs of different strictness on the same objects."""

from __future__ import annotations

from typing import Any

OLD, NEW = "v1:events", "events.k8s.io/v1:events"


def old_event(api: Any, **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": api.namespace}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about, **fields}


def new_event(api: Any, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2024-05-01T10:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Acting",
        "reason": "Because",
        "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        **fields,
    }


def test_an_event_is_in_the_namespace_of_what_it_is_about(api: Any) -> None:
    elsewhere = {"kind": "Pod", "name": "p", "namespace": "elsewhere"}
    assert api.create(OLD, old_event(api, involvedObject=elsewhere)).problems == [
        'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace'
    ]


def test_the_metadata_is_looked_at_once_the_event_makes_sense(api: Any) -> None:
    metadata = {"name": "e", "labels": {"a": "not a value!"}}
    elsewhere = {"kind": "Pod", "name": "p", "namespace": "elsewhere"}
    [problem] = api.create(OLD, old_event(api, metadata=metadata, involvedObject=elsewhere)).problems
    assert problem.startswith("involvedObject.namespace: ")
    [problem] = api.create(OLD, old_event(api, metadata=metadata)).problems
    assert problem.startswith("metadata.labels: ")


def test_the_newer_api_is_strict_where_the_older_is_not(api: Any) -> None:
    assert api.create(OLD, old_event(api, type="Odd")).status == 201
    wrong = api.create(NEW, new_event(api, metadata={"name": "f"}, type="Odd", deprecatedCount=3))
    assert wrong.problems == [
        'type: Invalid value: "": has invalid value: Odd',
        'count: Invalid value: "": needs to be unset',
    ]
    # As upstream, whose one internal kind both APIs share.
    assert wrong.body["details"]["kind"] == "Event" and "group" not in wrong.body["details"]


def test_an_event_of_one_api_is_read_through_the_other(api: Any) -> None:
    api.made(NEW, new_event(api, note="hello"))
    seen = api.get(f"{OLD}/e")
    assert (seen["message"], seen["reportingComponent"], seen["involvedObject"]["name"]) == (
        "hello",
        "example.com/c",
        "p",
    )
    back = api.get(f"{NEW}/e")
    assert (back["note"], back["reportingController"], back["apiVersion"]) == (
        "hello",
        "example.com/c",
        "events.k8s.io/v1",
    )


def test_what_the_newer_api_told_cannot_be_changed_through_it(api: Any) -> None:
    made = api.made(NEW, new_event(api))
    assert api.put(f"{NEW}/e", {**made, "reason": "Other"}).problems == [
        'reason: Invalid value: "Other": field is immutable'
    ]
    about = api.put(f"{NEW}/e", {name: value for name, value in made.items() if name != "regarding"}).problems
    assert about[1].startswith('involvedObject: Invalid value: {"Kind":"","Namespace":""')
    series = {"count": 2, "lastObservedTime": "2024-05-01T11:00:00.000000Z"}
    assert api.put(f"{NEW}/e", {**made, "series": series}).status == 200


def test_who_writes_through_one_api_makes_it_forget_the_managers_in_the_other(api: Any) -> None:
    api.made(NEW, new_event(api, note="hello"))
    (only,) = api.patch(f"{OLD}/e?fieldManager=other", {"message": "bye"}).body["metadata"]["managedFields"]
    assert (only["apiVersion"], only["fieldsV1"]) == ("v1", {"f:message": {}})
    unchanged = api.patch(f"{NEW}/e", {"note": "bye"}).body["metadata"]
    assert "managedFields" not in unchanged


def test_each_api_selects_by_its_own_field_names(api: Any) -> None:
    api.made(NEW, new_event(api))
    assert len(api.get(f"{OLD}?fieldSelector=involvedObject.name%3Dp,source%3Dexample.com/c")["items"]) == 1
    assert len(api.get(f"{NEW}?fieldSelector=regarding.name%3Dp")["items"]) == 1
    assert api.call("GET", f"{NEW}?fieldSelector=involvedObject.name%3Dp").status == 400


def test_the_table_tells_when_and_how_often(api: Any) -> None:
    api.made(OLD, old_event(api, message=" hi \n", source={"component": "kubelet", "host": "n1"}))
    cells = api.cells(f"{OLD}/e")
    assert (cells["Object"], cells["Message"], cells["Source"], cells["Count"], cells["Last Seen"]) == (
        "pod/p",
        "hi",
        "kubelet, n1",
        1,
        "<unknown>",
    )


def test_events_have_no_dependents_to_wait_for(api: Any) -> None:
    api.made(OLD, old_event(api))
    assert api.call("DELETE", f"{OLD}/e?propagationPolicy=Foreground").status == 200
    assert api.call("GET", f"{OLD}/e").status == 404


def test_metadata_is_checked_after_what_makes_sense_of_an_event(api: Any) -> None:
    nameless = {"metadata": {}, "eventTime": "2024-05-01T10:00:00.000000Z", "reason": ""}
    assert api.create(NEW, new_event(api, **nameless, type="Odd")).problems == [
        "reason: Required value",
        "metadata.name: Required value: name or generateName is required",
        'type: Invalid value: "": has invalid value: Odd',
    ]
    reporter = {"reportingComponent": "example.com/c", "reportingInstance": "c-1", "action": "Acting"}
    assert api.create(OLD, old_event(api, **nameless, **reporter)).problems == ["reason: Required value"]
