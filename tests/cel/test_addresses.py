"""Addresses and prefixes, and what Go says of those that are none."""

from __future__ import annotations

import pytest

from kapi.cel.library.addresses import AddressError, parse_address, parse_prefix


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::", "::"),
        ("::1", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ],
)
def test_an_address_is_read(text: str, shown: str) -> None:
    assert str(parse_address(text)) == shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unable to parse IP"),
        ("localhost", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("fe80::%", "zone must be a non-empty string"),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:2:3", "address string too short"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:g::", 'each colon-separated field must have at least one digit (at "g::")'),
        ("1g::", 'unexpected character, want colon (at "g::")'),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("::1.2.3.400", "IPv4 field has value >255"),
    ],
)
def test_what_is_no_address_is_refused_with_the_words_of_go(text: str, reason: str) -> None:
    with pytest.raises(AddressError) as raised:
        parse_address(text)
    assert str(raised.value) == f'ParseAddr("{text}"): {reason}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.0.0.0", "no '/'"),
        ("x/8", 'ParseAddr("x"): unable to parse IP'),
        ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
    ],
)
def test_what_is_no_prefix_is_refused_with_the_words_of_go(text: str, reason: str) -> None:
    with pytest.raises(AddressError) as raised:
        parse_prefix(text)
    assert str(raised.value) == f'netip.ParsePrefix("{text}"): {reason}'


def test_a_prefix_keeps_the_bits_that_it_does_not_mask() -> None:
    address, bits = parse_prefix("10.1.2.3/8")
    assert (str(address), bits) == ("10.1.2.3", 8)
