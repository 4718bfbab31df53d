"""JSON as Go takes it: its errors, its leniency, its limits; duplicates are never missed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.codec.json import JSONError, Pairs, count_keys, dumps, has_duplicates, loads, loads_exactly
from kapi.codec.json_syntax import MAX_DEPTH, syntax_error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b" ", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b"[1,", "unexpected end of JSON input"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b'"\\', "invalid character ' ' in string escape code"),
        (b'"\\u1', "invalid character ' ' in \\u hexadecimal character escape"),
        (b'{"a":}', "invalid character '}' looking for beginning of value"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b"not", "invalid character 'o' in literal null (expecting 'u')"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"Infinity", "invalid character 'I' looking for beginning of value"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b'"\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"\x8e", "invalid character '\\u008e' looking for beginning of value"),
    ],
)
def test_malformed_text_is_refused_in_gos_words(text: bytes, message: str) -> None:
    with pytest.raises(JSONError) as caught:
        loads(text)
    assert str(caught.value) == message


def test_invalid_utf8_and_lone_surrogates_become_replacement_characters() -> None:
    assert loads(b'"a\xffb\xe2\x82"') == "a\ufffdb\ufffd\ufffd"
    assert loads(b'"\\ud800"') == "\ufffd"
    assert loads(b'"\\ud83d\\ude00 \\udc00 \\\\ud800"') == "\U0001f600 \ufffd \\ud800"
    assert loads(b'{"\\ud800":1}') == {"\ufffd": 1}


def test_nesting_is_limited_and_never_harms() -> None:
    fine = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert dumps(loads(fine)) == fine
    for depth in (MAX_DEPTH + 1, 2_000, 1_000_000):
        with pytest.raises(JSONError, match=r"invalid character '\[' exceeded max depth"):
            loads(b"[" * depth + b"]" * depth)
        with pytest.raises(JSONError, match=r"invalid character '\{' exceeded max depth"):
            loads(b'{"a":' * depth + b"1" + b"}" * depth)


def test_wide_values_are_not_deep() -> None:
    wide = [{"a": [1]}] * 1_000
    assert loads(dumps(wide)) == wide


def test_numbers_beyond_a_float_are_refused_by_their_text() -> None:
    with pytest.raises(JSONError, match="json: cannot unmarshal number 1e400 into Go value of type float64"):
        loads(b'{"a":[1e400]}')
    assert loads(b"123456789012345678901234567890") == 123456789012345678901234567890.0


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a":1,"a" :2}',
        b'{"a":{"b":1,"b":2}}',
        b'[{"x":"y","x":"y"}]',
        b'{"a\\\\":1,"a\\\\":2,"b":":"}',
        b'{"q\\"":1,"q\\"":2}',
        b'{"a":1,"\\u0061":2}',
    ],
)
def test_duplicate_keys_are_noticed(text: bytes) -> None:
    assert has_duplicates(text, loads(text))


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{"a": 1, "b": {"a": [{"a": "x: y"}]}}',
        b'{"last":"{\\"a\\":{\\"b\\":1}}"}',
        b'["a","a"]',
        b"null",
    ],
)
def test_ordinary_text_is_not_suspected(text: bytes) -> None:
    assert not has_duplicates(text, loads(text))


members = st.text(alphabet='ab":\\ {}', max_size=3)
values = st.recursive(
    members | st.integers(-(1 << 63), (1 << 63) - 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=3),
    max_leaves=8,
)


def keys_of(pairs: Any) -> int:
    if isinstance(pairs, Pairs):
        return sum(1 + keys_of(value) for _, value in pairs)
    return sum(map(keys_of, pairs)) if isinstance(pairs, list) else 0


@given(values, st.booleans())
def test_a_text_without_duplicates_has_as_many_keys_as_its_value(value: Any, spaced: bool) -> None:
    text = json.dumps(value, separators=(" , ", " : ") if spaced else (",", ":")).encode()
    assert loads(text) == value
    assert keys_of(loads_exactly(text, pairs=True)) == count_keys(value)


@given(values, members)
def test_a_doubled_member_is_always_noticed(value: Any, name: str) -> None:
    key, inner = json.dumps(name), json.dumps(value)
    text = f"{{{key}:{inner},{key}:{inner}}}".encode()
    assert has_duplicates(text, loads(text))


@given(st.binary(max_size=30) | st.text(alphabet='{}[]",:\\tfn0-e.1 ', max_size=20).map(str.encode))
def test_the_exact_scanner_agrees_with_the_fast_parser(text: bytes) -> None:
    message = syntax_error(text)
    try:
        loads(text)
    except JSONError as error:
        assert str(error) == message or "cannot unmarshal number" in str(error)
    else:
        assert message is None
