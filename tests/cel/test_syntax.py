"""Syntax errors, as they are printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.cel.kubernetes import base_environment
from kapi.cel.source import CompileError

_STARTS = (
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
)


def problems(expression: str) -> str:
    with pytest.raises(CompileError) as caught:
        base_environment().compile(expression)
    return str(caught.value)


def test_an_error_shows_the_line_and_a_caret_below_the_place() -> None:
    assert problems("1 +\n  + 2") == (
        f"ERROR: <input>:2:3: Syntax error: extraneous input '+' expecting {{{_STARTS}}}\n |   + 2\n | ..^"
    )


def test_wide_characters_get_a_wide_caret() -> None:
    assert "\n | 'é' + 😀\n | .．....＾\n" in problems("'é' + 😀")


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("self ==", [f"1:8: Syntax error: mismatched input '<EOF>' expecting {{{_STARTS}}}"]),
        (
            "1 + +",
            [
                f"1:5: Syntax error: mismatched input '+' expecting {{{_STARTS}}}",
                f"1:6: Syntax error: mismatched input '<EOF>' expecting {{{_STARTS}}}",
            ],
        ),
        (
            "a | b",
            [
                "1:3: Syntax error: token recognition error at: '| '",
                "1:5: Syntax error: extraneous input 'b' expecting <EOF>",
            ],
        ),
        ("1 + 2\n3 +", ["2:1: Syntax error: mismatched input '3' expecting <EOF>"]),
        ("(1", ["1:3: Syntax error: missing ')' at '<EOF>'"]),
        ("((1", ["1:4: Syntax error: mismatched input '<EOF>' expecting ')'"]),
        ("[1 2]", ["1:4: Syntax error: extraneous input '2' expecting {']', ','}"]),
        ("{1}", ["1:3: Syntax error: mismatched input '}' expecting ':'"]),
        ("a.", ["1:3: Syntax error: no viable alternative at input '.'"]),
        ("a.true", ["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        ("X{", ["1:3: Syntax error: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"]),
        (
            '"\\xFh"',
            [
                "1:1: Syntax error: token recognition error at: '\"\\xFh'",
                "1:6: Syntax error: token recognition error at: '\"'",
                f"1:7: Syntax error: mismatched input '<EOF>' expecting {{{_STARTS}}}",
            ],
        ),
    ],
)
def test_syntax_errors_are_those_of_antlr(expression: str, lines: list[str]) -> None:
    shown = [line.removeprefix("ERROR: <input>:") for line in problems(expression).split("\n") if "ERROR" in line]
    assert shown == lines


@pytest.mark.parametrize("expression", ["(" * 5000 + "1" + ")" * 5000, "1" + " + 1" * 20_000, "[" * 3000])
def test_deep_nesting_is_refused_and_does_not_crash(expression: str) -> None:
    assert "recursion limit exceeded: 250" in problems(expression) or "Syntax error" in problems(expression)


def test_a_huge_expression_is_refused() -> None:
    assert problems("1" + " " * 100_000) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )


@given(st.text(alphabet="ab1.'\"()[]{}+-*/%?:,&|!<>= \\nrxin", max_size=40))
def test_no_text_makes_the_compiler_fail_in_any_other_way(text: str) -> None:
    try:
        base_environment().compile(text).estimate()
    except CompileError as error:
        assert error.issues
