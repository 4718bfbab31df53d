"""Durations as Go reads and writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.duration import DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1h30m", "1h30m0s"),
        ("90m", "1h30m0s"),
        ("1.5s", "1.5s"),
        ("300ms", "300ms"),
        ("-1h", "-1h0m0s"),
        ("0", "0s"),
        ("1us", "1µs"),
        ("1µs", "1µs"),
        (".5s", "500ms"),
        ("1m0.25s", "1m0.25s"),
        ("7ns", "7ns"),
    ],
)
def test_durations_are_read_and_written(text: str, written: str) -> None:
    assert format_duration(parse_duration(text)) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("100", 'time: missing unit in duration "100"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("-", 'time: invalid duration "-"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_other_text_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@given(st.integers(-(1 << 62), 1 << 62))
def test_what_is_written_reads_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
