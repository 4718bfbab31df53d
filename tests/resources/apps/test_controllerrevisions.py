from __future__ import annotations

from typing import Any

PATH = "apps/v1:controllerrevisions"


def revision(data: Any, number: int = 1, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web-1"} | metadata, "data": data, "revision": number}


def test_data_is_an_object(api: Any) -> None:
    assert api.create(PATH, revision(None)).problems == ["data: Required value: data is mandatory"]
    assert api.create(PATH, revision("text")).problems == ["data: Required value: data must be a valid JSON object"]


def test_data_never_changes_not_even_in_order(api: Any) -> None:
    api.made(PATH, revision({"a": 1, "b": 2}))
    assert api.put(f"{PATH}/web-1", revision({"b": 2, "a": 1})).problems == [
        'data: Invalid value: {"b":2,"a":1}: field is immutable'
    ]
    assert api.put(f"{PATH}/web-1", revision({"a": 1, "b": 2}, 5)).body["revision"] == 5


def test_the_columns_show_its_controller(api: Any) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}
    api.made(PATH, revision({}, 3, ownerReferences=[owner]))
    cells = api.cells(f"{PATH}/web-1")
    assert (cells["Controller"], cells["Revision"]) == ("statefulset.apps/web", 3)
