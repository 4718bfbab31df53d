"""YAML as sigs.k8s.io/yaml has it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.codec.yaml import YAMLError, load
from kapi.codec.yaml_dump import dumps


def value_of(text: str) -> Any:
    value, problem = load(text.encode())
    assert not problem
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("off", False),
        ("N", False),
        ("~", None),
        ("", None),
        ("0x1F", 31),
        ("017", 15),
        ("0o17", 15),
        ("0b101", 5),
        ("1_000", 1000),
        ("+5", 5),
        ("08", 8),
        ("1.5e3", 1500),
        (".5", 0.5),
        ("18446744073709551615", 18446744073709551615),
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("'yes'", "yes"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!binary aGk=", "hi"),
        ("! 5", "5"),
        ("tRuE", "tRuE"),
        ("1.2.3", "1.2.3"),
        ("0.1.0", "0.1.0"),
    ],
)
def test_plain_scalars_mean_what_yaml_1_1_says(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_keys_become_text() -> None:
    assert value_of("{1: a, true: b, 1.5: c, x: d}") == {"1": "a", "true": "b", "1.5": "c", "x": "d"}


def test_duplicate_keys_are_reported_by_line_and_the_last_wins() -> None:
    value, problem = load(b"a: 1\nb: {c: 1, c: 2}\na: 2\n")
    assert value == {"a": 2, "b": {"c": 2}}
    expected = 'yaml: unmarshal errors:\n  line 2: key "c" already set in map\n  line 3: key "a" already set in map'
    assert problem == expected


def test_only_the_first_document_counts() -> None:
    assert value_of("a: 1\n---\nb: 2\n") == {"a": 1}
    assert value_of("---\n...\n") is None


def test_aliases_are_copies_and_merges_are_followed() -> None:
    value = value_of("base: &b {x: 1, w: [1]}\nother: {<<: *b, z: 2}\nsame: *b\n")
    assert value == {"base": {"x": 1, "w": [1]}, "other": {"x": 1, "w": [1], "z": 2}, "same": {"x": 1, "w": [1]}}
    value["base"]["w"].append(2)
    assert value["same"]["w"] == [1]
    assert value["other"]["w"] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *b", "yaml: unknown anchor 'b' referenced"),
        ("a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("{[1]: 2}", "yaml: invalid map key: []"),
        ("<<: 5", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: 1\n b: 2\n", "yaml: line 2: mapping values are not allowed in this context"),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
    ],
)
def test_what_has_no_json_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(YAMLError) as caught:
        load(text.encode())
    assert str(caught.value) == message


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(YAMLError, match="excessive aliasing"):
        load("\n".join(lines).encode())


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(YAMLError):
        load(text.encode())


def test_dumped_yaml_is_sorted_and_in_block_style() -> None:
    value = {
        "kind": "X",
        "b": [{"z": 1, "a": [1, 2]}, []],
        "k10": None,
        "k9": {"text": "a\nb\n", "no": "yes", "n": "1", "t": "2024-05-01", "c": "a: b", "e": "", "s": "it's"},
    }
    assert dumps(value).decode() == (
        'b:\n- a:\n  - 1\n  - 2\n  z: 1\n- []\nk9:\n  c: \'a: b\'\n  e: ""\n  "n": "1"\n  "no": "yes"\n'
        '  s: it\'s\n  t: "2024-05-01"\n  text: |\n    a\n    b\nk10: null\nkind: X\n'
    )


def test_long_lines_are_folded_at_single_spaces_beyond_the_eightieth_column() -> None:
    words = " ".join(["nine-long"] * 9)
    assert dumps({"m": {"plain": words, "quoted": f"a: {words}", "escaped": f"\t{words}  two"}}).decode() == (
        'm:\n  escaped: "\\tnine-long nine-long nine-long nine-long nine-long nine-long nine-long\n'
        '    nine-long nine-long  two"\n'
        "  plain: nine-long nine-long nine-long nine-long nine-long nine-long nine-long nine-long\n    nine-long\n"
        "  quoted: 'a: nine-long nine-long nine-long nine-long nine-long nine-long nine-long\n"
        "    nine-long nine-long'\n"
    )
    assert dumps([f"\t{'x' * 80}  y z"]).decode() == f'- "\\t{"x" * 80}\n  \\ y z"\n'


@pytest.mark.parametrize(
    ("text", "dumped"), [("\n a", "|2-\n\n   a\n"), ("\x01\x85\x1b", '"\\x01\\N\\e"\n'), ("\ufeff", '"\\uFEFF"\n')]
)
def test_what_needs_a_hint_or_an_escape_is_written_with_it(text: str, dumped: str) -> None:
    assert dumps(text).decode() == dumped


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    alphabet=" \n:#-'\"ab1\t|>", max_size=200
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_what_is_dumped_loads_back(value: Any) -> None:
    assert load(dumps(value)) == (value, "")


@given(st.binary(max_size=40) | st.text(alphabet="{}[]&*!|>-:? ab\n'\"%@,#", max_size=25).map(str.encode))
def test_no_text_does_worse_than_being_refused(text: bytes) -> None:
    try:
        load(text)
    except YAMLError as error:
        assert str(error)


def test_long_text_is_folded_past_the_eightieth_column() -> None:
    text = "the quick brown fox jumps over the lazy dog " * 3
    assert dumps({"a": text.strip(), "b": text, "c": "x" * 90}).decode() == (
        "a: the quick brown fox jumps over the lazy dog the quick brown fox jumps over the\n"
        "  lazy dog the quick brown fox jumps over the lazy dog\n"
        "b: 'the quick brown fox jumps over the lazy dog the quick brown fox jumps over the\n"
        "  lazy dog the quick brown fox jumps over the lazy dog '\n"
        f"c: {'x' * 90}\n"
    )
    nested = {"list": [text.strip()], "key" * 30: "a b"}
    assert dumps(nested).decode() == (
        f"{'key' * 30}: a\n  b\n"
        "list:\n"
        "- the quick brown fox jumps over the lazy dog the quick brown fox jumps over the lazy\n"
        "  dog the quick brown fox jumps over the lazy dog\n"
    )


def test_spaces_that_a_fold_would_swallow_are_kept_by_a_backslash() -> None:
    assert dumps({"a": "\t" + "x" * 80 + "  y \x01\U0001f600"}).decode() == (
        'a: "\\t' + "x" * 80 + '\n  \\ y \\x01\\U0001F600"\n'
    )
