"""Namespaces: their deletion is checked in words of their own."""

from __future__ import annotations

from typing import Any

UID = "11111111-2222-3333-4444-555555555555"


def test_a_delete_names_what_does_not_match(namespace: Any) -> None:
    path = f"/api/v1/namespaces/{namespace.name}"
    found = namespace.client.get(path)["metadata"]
    for name, given, actual in (
        ("UID", {"uid": UID}, found["uid"]),
        ("ResourceVersion", {"resourceVersion": "1"}, found["resourceVersion"]),
    ):
        status, answer = namespace.client.call("DELETE", path, {"preconditions": given})
        assert (status, answer["details"]["kind"]) == (409, "namespaces")
        [value] = given.values()
        assert answer["message"] == (
            f'Operation cannot be fulfilled on namespaces "{namespace.name}": Precondition failed: '
            f"{name} in precondition: {value}, {name} in object meta: {actual}"
        )


def test_a_namespace_is_active_unless_it_says_otherwise(namespace: Any) -> None:
    path = f"/api/v1/namespaces/{namespace.name}"
    found = namespace.client.get(path)
    status, answer = namespace.client.call("PUT", f"{path}/status", {**found, "status": {}})
    assert (status, answer["status"]) == (200, {"phase": "Active"})
    terminating = {**found, "status": {"phase": "Terminating"}}
    assert namespace.messages("PUT", f"{path}/status", terminating) == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


def test_a_namespace_that_is_being_deleted_gets_no_more_finalizers(namespace: Any) -> None:
    path = f"/api/v1/namespaces/{namespace.name}-held"
    held = {"metadata": {"name": f"{namespace.name}-held"}, "spec": {"finalizers": ["example.com/held"]}}
    namespace.client.call("POST", "/api/v1/namespaces", held)
    assert namespace.client.call("DELETE", path)[0] == 200
    status, answer = namespace.client.call("DELETE", f"{path}?propagationPolicy=Foreground")
    assert (status, answer["metadata"].get("finalizers")) == (200, None)
    namespace.client.call("PUT", f"{path}/finalize", {**answer, "spec": {}})
