"""JSON patch: the operations, their failures, and agreement with a reference implementation."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.patch import json_patch
from kapi.patch.errors import BadPatch, PatchDoesNotApply, TooManyOperations

DOCUMENT = {"data": {"a": "1", "b": "2"}, "list": ["x", "y", "z"], "odd/key": 1, "til~de": 2, "nothing": None}


@pytest.mark.parametrize(
    ("operation", "path", "wanted"),
    [
        ({"op": "add", "path": "/data/c", "value": 3}, ("data", "c"), 3),
        ({"op": "add", "path": "/data/a", "value": 9}, ("data", "a"), 9),
        ({"op": "replace", "path": "/data/a", "value": 9}, ("data", "a"), 9),
        ({"op": "replace", "path": "/data/absent", "value": 9}, ("data", "absent"), 9),
        ({"op": "replace", "path": "/odd~1key", "value": 9}, ("odd/key",), 9),
        ({"op": "replace", "path": "/til~0de", "value": 9}, ("til~de",), 9),
        ({"op": "add", "path": "/list/-", "value": "n"}, ("list",), ["x", "y", "z", "n"]),
        ({"op": "add", "path": "/list/0", "value": "n"}, ("list",), ["n", "x", "y", "z"]),
        ({"op": "add", "path": "/list/01", "value": "n"}, ("list",), ["x", "n", "y", "z"]),
        ({"op": "add", "path": "/list/3", "value": "n"}, ("list",), ["x", "y", "z", "n"]),
        ({"op": "add", "path": "/list/-1", "value": "n"}, ("list",), ["x", "y", "z", "n"]),
        ({"op": "remove", "path": "/list/-1"}, ("list",), ["x", "y"]),
        ({"op": "replace", "path": "/list/1", "value": "n"}, ("list",), ["x", "n", "z"]),
        ({"op": "move", "from": "/data/a", "path": "/list/0"}, ("list",), ["1", "x", "y", "z"]),
        ({"op": "copy", "from": "/list", "path": "/data/c"}, ("data", "c"), ["x", "y", "z"]),
        ({"op": "copy", "from": "/data/absent", "path": "/data/c"}, ("data", "c"), None),
    ],
)
def test_an_operation_changes_what_it_names(operation: Any, path: tuple[str, ...], wanted: Any) -> None:
    result = json_patch.apply(DOCUMENT, [operation])
    for name in path:
        result = result[name]
    assert result == wanted


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/no/where", "value": 1},
        {"op": "add", "path": "/nothing/here", "value": 1},
        {"op": "add", "path": "/data/a/b", "value": 1},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/list/-5", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "data", "value": 1},
        {"op": "add", "value": 1},
        {"op": "add", "path": 5, "value": 1},
        {"op": "remove", "path": "/data/none"},
        {"op": "remove", "path": "/list/3"},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": "/list/99999999999999999999"},
        {"op": "replace", "path": "/list/3", "value": 1},
        {"op": "replace", "path": "", "value": "text"},
        {"op": "move", "from": "/data/none", "path": "/data/z"},
        {"op": "move", "from": "/data", "path": "/data/inside"},
        {"op": "move", "path": "/data/z"},
        {"op": "copy", "from": "/list/9", "path": "/data/z"},
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "test", "path": "/data/none", "value": "x"},
        {"op": "test", "path": "", "value": {}},
        {"op": "test", "path": "/odd~1key", "value": True},
        {"op": "invent", "path": "/data"},
        {},
        None,
    ],
)
def test_what_does_not_apply_is_refused_and_changes_nothing(operation: Any) -> None:
    before = json_patch.apply(DOCUMENT, [])
    with pytest.raises(PatchDoesNotApply) as refused:
        json_patch.apply(DOCUMENT, [{"op": "remove", "path": "/data/b"}, operation])
    assert refused.value.code == 422
    assert before == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data", "value": {"b": "2", "a": "1"}},
        {"op": "test", "path": "/data/none", "value": None},
        {"op": "test", "path": "/nothing", "value": None},
        {"op": "test", "path": "/list/-1", "value": "z"},
        {"op": "test", "path": "", "value": DOCUMENT},
    ],
)
def test_a_test_that_holds_changes_nothing(operation: Any) -> None:
    assert json_patch.apply(DOCUMENT, [operation]) == DOCUMENT


def test_the_whole_document_can_be_replaced() -> None:
    assert json_patch.apply(DOCUMENT, [{"op": "replace", "path": "", "value": {"new": 1}}]) == {"new": 1}


def test_values_of_the_patch_are_not_shared_with_the_result() -> None:
    patch = [{"op": "add", "path": "/new", "value": {"x": []}}, {"op": "copy", "from": "/new", "path": "/other"}]
    result = json_patch.apply({}, patch)
    result["new"]["x"].append(1)
    assert patch[0]["value"] == {"x": []}
    assert result["other"] == {"x": []}


def test_a_patch_is_limited_to_ten_thousand_operations() -> None:
    one = {"op": "test", "path": "/a", "value": None}
    assert json_patch.apply({}, [one] * 10_000) == {}
    with pytest.raises(TooManyOperations) as refused:
        json_patch.apply({}, [one] * 10_001)
    assert refused.value.code == 413
    assert refused.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"


def test_copies_of_copies_are_limited_in_size() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 64
    with pytest.raises(PatchDoesNotApply, match="exceeding the limit 3145728"):
        json_patch.apply({"a": ["x" * 1000]}, doubling)


@pytest.mark.parametrize("patch", [{}, "text", 5, [1], ["x"]])
def test_a_patch_that_is_no_list_of_operations_is_malformed(patch: Any) -> None:
    with pytest.raises(BadPatch) as refused:
        json_patch.apply({}, patch)
    assert refused.value.code == 400


keys = st.sampled_from(["a", "b", "c/d", "e~f"])
documents = st.recursive(
    st.integers(0, 3) | st.text("xy", max_size=2) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
pointers = st.lists(keys.map(lambda k: k.replace("~", "~0").replace("/", "~1")) | st.sampled_from("0123-"), max_size=3)


@given(st.dictionaries(keys, documents, max_size=3), st.data())
def test_operations_agree_with_a_reference_library(document: dict[str, Any], data: st.DataObject) -> None:
    """On every patch that the reference accepts (it is stricter about absent members)."""
    patch = []
    for _ in range(data.draw(st.integers(1, 3))):
        operation: dict[str, Any] = {
            "op": data.draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])),
            "path": "/" + "/".join(data.draw(pointers.filter(bool))),
        }
        if operation["op"] in ("move", "copy"):
            operation["from"] = "/" + "/".join(data.draw(pointers.filter(bool)))
        else:
            operation["value"] = data.draw(documents)
        patch.append(operation)
    try:
        wanted = jsonpatch.apply_patch(document, patch)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return
    assert json_patch.apply(document, patch) == wanted


@given(documents)
def test_applying_nothing_changes_nothing(document: Any) -> None:
    assert json_patch.apply(document, []) == document
