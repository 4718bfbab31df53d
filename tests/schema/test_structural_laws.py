"""Laws of structural schemas, for schemas and objects at random: defaulting, pruning, validating and applying."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from kapi.patch.apply.apply import Applier, apply
from kapi.schema.structural import Structural
from kapi.schema.structural_check import validate
from kapi.schema.structural_lists import duplicates
from kapi.schema.structural_settle import apply_defaults, settle
from kapi.schema.structural_types import object_type

Schema = dict[str, Any]
NAMES = st.sampled_from("abcd")
STRANGE = ("zz", "zy")  # no schema has these
WORDS = st.text("xyz", max_size=3)
HEAD = {"apiVersion": "g/v1", "kind": "Foo"}
LISTS = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


@st.composite
def scalars(draw: st.DrawFn) -> Schema:
    schema: Schema = draw(
        st.sampled_from(
            [
                {"type": "string", "maxLength": 3},
                {"type": "string", "pattern": "^[x-z]*$"},
                {"type": "string", "enum": ["x", "y"]},
                {"type": "integer", "minimum": -3, "maximum": 3},
                {"type": "number"},
                {"type": "boolean"},
                {"x-kubernetes-int-or-string": True},
            ]
        )
    )
    return draw(varied(schema))


@st.composite
def varied(draw: st.DrawFn, schema: Schema) -> Schema:
    """The schema as it is, or nullable, or with a default that fits."""
    # As upstream: an enumeration does not hold null unless it says so.
    if "enum" not in schema and draw(st.integers(0, 3)) == 0:
        schema = {**schema, "nullable": True}
    if draw(st.integers(0, 3)) == 0:
        schema = {**schema, "default": draw(fitting(schema).filter(lambda value: value is not None))}
    return schema


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = [name for name in properties if draw(st.integers(0, 3)) == 0]
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return draw(varied(schema))


@st.composite
def list_maps(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    properties = {**draw(st.dictionaries(NAMES, inner, max_size=3)), "k": {"type": "string"}}
    return {"type": "array", "items": {"type": "object", "required": ["k"], "properties": properties}, **LISTS}


SCHEMAS = st.recursive(
    scalars(),
    lambda inner: st.one_of(
        objects(inner),
        list_maps(inner),
        inner.map(lambda items: {"type": "array", "items": items, "maxItems": 3}),
        inner.map(lambda values: {"type": "object", "additionalProperties": values}),
        st.just({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
    ),
    max_leaves=10,
)


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that the schema allows."""
    made = _fitting(schema)
    return st.none() | made if schema.get("nullable") else made


def _fitting(schema: Schema) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return WORDS | st.integers(-3, 3)
    kind = schema["type"]
    if kind == "array":
        return _lists(schema)
    if kind == "object":
        if "additionalProperties" in schema:
            return st.dictionaries(NAMES, fitting(schema["additionalProperties"]), max_size=3)
        found = {name: fitting(below) for name, below in schema["properties"].items()}
        required = set(schema.get("required", ()))
        optional = {name: below for name, below in found.items() if name not in required}
        return st.fixed_dictionaries({name: found[name] for name in required}, optional=optional)
    scalar = {"string": WORDS, "integer": st.integers(-3, 3), "number": st.integers(-9, 9), "boolean": st.booleans()}
    return scalar[kind]


def _lists(schema: Schema) -> st.SearchStrategy[Any]:
    items = fitting(schema["items"])
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        return st.lists(items, max_size=3, unique=True)
    if kind == "map":
        return st.lists(items, max_size=3, unique_by=lambda item: item["k"])
    return st.lists(items, max_size=3)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Structural, Any]:
    """A schema and an object that fits it."""
    schema = draw(SCHEMAS)
    node = Structural({"type": "object", "properties": {"f": schema}})
    return node, {**HEAD, "metadata": {"name": "x"}, "f": draw(fitting(schema))}


def problems(node: Structural, obj: Any) -> list[str]:
    return [str(error) for error in (*validate(node, obj), *duplicates(node, obj))]


@given(cases())
def test_what_fits_is_left_alone_and_fits(case: tuple[Structural, Any]) -> None:
    node, obj = case
    before = copy.deepcopy(obj)
    assert settle(node, obj) == []
    assert obj == before
    assert problems(node, obj) == []


@given(cases())
def test_defaults_that_fit_make_nothing_unfit_and_come_once(case: tuple[Structural, Any]) -> None:
    node, obj = case
    apply_defaults(node, obj)
    assert problems(node, obj) == []
    once = copy.deepcopy(obj)
    apply_defaults(node, obj)
    assert obj == once


@given(cases(), st.data())
def test_pruning_takes_exactly_what_is_strange(case: tuple[Structural, Any], data: st.DataObject) -> None:
    node, obj = case
    before = copy.deepcopy(obj)
    added = sorted(strangers(node, obj, "", data))
    assert sorted(settle(node, obj)) == added
    assert obj == before
    assert problems(node, obj) == []


def strangers(node: Structural, value: Any, path: str, data: st.DataObject) -> list[str]:
    """Add members that no schema knows, where those would be pruned; their paths."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in list(value.items()):
            below = node.member(key)
            if below is not None and key not in ("apiVersion", "kind", "metadata"):
                found += strangers(below, item, f"{path}.{key}" if path else key, data)
        if node.schema.get("additionalProperties") is None:
            for name in STRANGE:
                if data.draw(st.booleans()):
                    value[name] = data.draw(st.sampled_from([1, None, [], {"a": 1}]))
                    found.append(f"{path}.{name}" if path else name)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            found += strangers(node.items, item, f"{path}[{index}]", data)
    return found


@given(cases(), st.data())
def test_validation_sees_nothing_that_pruning_would_take(case: tuple[Structural, Any], data: st.DataObject) -> None:
    """An object that may be wrong: judged after pruning, and after pruning what was pruned."""
    node, obj = case
    obj["f"] = data.draw(
        st.one_of(st.just(obj["f"]), st.none(), st.integers(), WORDS, st.just([{}]), st.just({"a": 1}))
    )
    settle(node, obj)
    again = copy.deepcopy(obj)
    assert settle(node, again) == []
    assert problems(node, obj) == problems(node, again)


def has_empty_list(value: Any) -> bool:
    """As upstream: nobody owns a list that has no elements, and so nobody can take it away."""
    if isinstance(value, list):
        return not value or any(map(has_empty_list, value))
    return isinstance(value, dict) and any(map(has_empty_list, value.values()))


def by(manager: str) -> Applier:
    return Applier(manager=manager, api_version="g/v1", kind="Foo", now="2026-01-01T00:00:00Z")


@given(cases())
def test_an_apply_creates_what_it_says_and_applies_again_to_the_same(case: tuple[Structural, Any]) -> None:
    node, config = case
    assume(not has_empty_list(config["f"]))
    type_ = object_type(node)
    live = apply(None, copy.deepcopy(config), type_, by("one"))
    assert live["f"] == config["f"]
    again = apply(copy.deepcopy(live), copy.deepcopy(config), type_, by("one"))
    assert again == live


@given(cases())
def test_what_is_applied_no_more_goes_unless_another_has_it(case: tuple[Structural, Any]) -> None:
    node, config = case
    assume(config["f"] is not None and not has_empty_list(config["f"]))
    type_ = object_type(node)
    bare = {**HEAD, "metadata": {"name": "x"}}
    live = apply(None, copy.deepcopy(config), type_, by("one"))
    shared = apply(copy.deepcopy(live), copy.deepcopy(config), type_, by("two"))
    kept = apply(shared, copy.deepcopy(bare), type_, by("one"))
    assert kept["f"] == config["f"]
    gone = apply(kept, copy.deepcopy(bare), type_, by("two"))
    assert "f" not in gone
