"""Quantities: text, canonical form, arithmetic, comparison."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.quantity import WRONG_FORMAT, WRONG_NUMBER, WRONG_SUFFIX, Quantity, QuantityError, canonical

DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi"]

texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.one_of(st.just(""), st.integers(0, 10**12).map(lambda n: f".{n}")),
    st.one_of(st.sampled_from(DECIMAL + BINARY), st.integers(-12, 12).map(lambda n: f"e{n}")),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1500", "1500"),
        ("1000", "1k"),
        ("1000000", "1M"),
        ("100000", "100k"),
        ("1024Ki", "1Mi"),
        ("1536Ki", "1536Ki"),
        ("1.5Gi", "1536Mi"),
        ("64Mi", "64Mi"),
        ("0.1Gi", "107374182400m"),
        ("0Ki", "0"),
        ("16Ei", "9223372036854775807"),
        ("0.1m", "100u"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("123456789012345678901", "123456789012345678901"),
        ("5000E", "5000E"),
    ],
)
def test_quantities_are_written_in_canonical_form(text: str, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize("text", ["1.234", "100m", "+5", "250Ki", "1.500", "12E3"])
def test_text_that_upstream_takes_for_canonical_is_kept(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", WRONG_FORMAT),
        ("lots", WRONG_FORMAT),
        ("1.2.3", WRONG_FORMAT),
        ("1 Gi", WRONG_FORMAT),
        ("1KiB", WRONG_FORMAT),
        ("١", WRONG_FORMAT),
        ("1ee", WRONG_SUFFIX),
        ("1K", WRONG_SUFFIX),
        ("1mi", WRONG_SUFFIX),
        ("1e99999", WRONG_SUFFIX),
        ("9" * 5000, WRONG_NUMBER),
    ],
)
def test_other_text_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)
    assert str(caught.value) == message


@given(texts)
def test_canonical_form_is_idempotent_and_keeps_the_amount(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))
    assert str(again) == str(quantity)
    assert again == quantity


@given(texts, texts)
def test_arithmetic_and_order_are_exact(left: str, right: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    assert (a + b).as_fraction() == a.as_fraction() + b.as_fraction()
    assert (a - b).as_fraction() == a.as_fraction() - b.as_fraction()
    assert (a < b) == (a.as_fraction() < b.as_fraction())
    if abs((a + b).as_fraction()) < 1 << 63:  # binary quantities are capped there when they are read
        assert Quantity.parse(str(a + b)) == a + b


def test_a_sum_keeps_the_format_of_the_first_unless_that_is_zero() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1073741824")) == "2Gi"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"


def test_equal_amounts_are_equal_and_hash_alike_however_they_are_written() -> None:
    assert Quantity.parse("1") == Quantity.parse("1000m")
    assert len({Quantity.parse("1Ki"), Quantity.parse("1024")}) == 1


def test_whole_and_milli_values_round_away_from_zero() -> None:
    assert Quantity.parse("1.1").value == 2
    assert Quantity.parse("-1.1").value == -2
    assert Quantity.parse("100u").milli_value == 1
    assert Quantity.parse("2k").milli_value == 2_000_000


def test_rounding_up_changes_only_what_is_finer() -> None:
    assert str(Quantity.parse("1.0001").round_up(-3)) == "1001m"
    assert str(Quantity.parse("1.234").round_up(-3)) == "1.234"
    assert Quantity.parse("0.1Gi").as_fraction() == Fraction(2**30, 10)
