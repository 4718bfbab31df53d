"""The formats that a schema of a custom resource may name, as upstream's registry understands them."""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from ipaddress import AddressValueError, IPv6Address

from kapi.api.names import dns_label, dns_subdomain

Test = Callable[[str], object]

_INTEGERS, _NUMBERS = frozenset(("int32", "int64")), frozenset(("float", "double"))

_UUID = "[0-9a-fA-F]"
_LETTER = r"[^\W_]"
_ONE_LABEL = rf"{_LETTER}(?:-?{_LETTER}{{0,62}})?"
_HOSTNAME = rf"\A(?:{_ONE_LABEL}|(?:{_LETTER}(?:(?:{_LETTER}|-){{0,61}}{_LETTER})?\.)+[^\W\d_]{{2,63}})\Z"
_CREDIT_CARD = (
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)
_COLOR = r"(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_SHORT_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))


def is_supported(type_: str, format_: str) -> bool:
    """Whether the format means anything for that type."""
    if type_ in ("", "string"):
        return format_.replace("-", "") in _FORMATS
    return format_ in (_INTEGERS if type_ == "integer" else _NUMBERS if type_ == "number" else ())


def format_check(format_: str) -> Test | None:
    return _FORMATS.get(format_.replace("-", ""))


def _pattern(text: str, flags: int = 0) -> Test:
    return re.compile(rf"(?:{text})\Z", flags).match


def _uuid(version: str = "", variant: str = "") -> Test:
    third = f"{version}{_UUID}{{3}}" if version else f"{_UUID}{{4}}"
    fourth = f"{variant}{_UUID}{{3}}" if variant else f"{_UUID}{{4}}"
    return _pattern(f"{_UUID}{{8}}-?{_UUID}{{4}}-?{third}-?{fourth}-?{_UUID}{{12}}")


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    # As Go's lenient parser: leading zeros are allowed.
    return len(parts) == 4 and all(p.isascii() and p.isdigit() and _is_octet(p.lstrip("0")) for p in parts)


def _is_octet(digits: str) -> bool:
    return len(digits) < 4 and int(digits or "0") < 256


def _is_ipv6(text: str) -> bool:
    try:
        return ":" in text and "%" not in text and bool(IPv6Address(text).packed)
    except AddressValueError:
        return False


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or len(length) > 3:
        return False
    return int(length) <= (32 if _is_ipv4(address) else 128 if _is_ipv6(address) else -1)


def _is_uri(text: str) -> bool:
    """An absolute URI or an absolute path, as net/url.ParseRequestURI."""
    if not text or any(ord(c) < 0x20 or ord(c) == 0x7F for c in text) or " " in text:
        return False
    if re.search(r"%(?![0-9A-Fa-f]{2})", text.partition("?")[0]):
        return False
    return text.startswith("/") or text == "*" or bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text))


def _is_email(text: str) -> bool:
    bare = re.fullmatch(r"\s*(?:[^<>]*<([^<>]+)>|([^<>]+))\s*", text)
    address = (bare[1] or bare[2] or "").strip() if bare else ""
    local, at, domain = address.rpartition("@")
    atoms = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u0080-\U0010ffff]+"
    is_local = re.fullmatch(rf'{atoms}(?:\.{atoms})*|"[^"]*"', local)
    return bool(at and is_local and re.fullmatch(rf"{atoms}(?:\.{atoms})*|\[[^\]]*\]", domain))


_is_hostname_text = re.compile(_HOSTNAME).match


def _is_hostname(text: str) -> bool:
    # Symbols may stand where digits may.
    plain = "".join("0" if unicodedata.category(c).startswith("S") else c for c in text)
    short = all(len(label.encode()) < 64 for label in text.split("."))
    return bool(_is_hostname_text(plain)) and short and len(text.encode()) <= 255


_is_mac = _pattern(
    r"(?:[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?:(?::[0-9a-fA-F]{2}){2}|(?::[0-9a-fA-F]{2}){14})?"
    r"|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}(?:(?:-[0-9a-fA-F]{2}){2}|(?:-[0-9a-fA-F]{2}){14})?"
    r"|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?:(?:\.[0-9a-fA-F]{4})|(?:\.[0-9a-fA-F]{4}){7})?"
    r"|[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})"
)


def _digits(text: str) -> str:
    return re.sub(r"[\s-]+", "", text)


def _is_isbn10(text: str) -> bool:
    digits = _digits(text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _digits(text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum((3 if i % 2 else 1) * int(d) for i, d in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.fullmatch(_CREDIT_CARD, digits):
        return False
    doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and bool(binascii.a2b_base64(text, strict_mode=True))
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        return bool(date(max(int(text[:4]), 1), int(text[5:7]), int(text[8:])))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, *rest = text.lower().split("t")
    clock = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|(?:[+-][0-9]{2}:[0-9]{2}))"
    time = re.fullmatch(clock, rest[0]) if rest else None  # as upstream, whatever follows another T
    return bool(time and _is_date(day) and time[1] <= "23" and time[2] <= "59" and time[3] <= "59")


def _is_duration(text: str) -> bool:
    """As Go's durations, or in words: 2 hours."""
    if re.fullmatch(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)", text):
        return True
    units = [unit.lower() for unit in re.findall(r"[0-9]+\s*([A-Za-zµ]+)", text)]
    return any(unit in _SHORT_UNITS or unit.startswith(_UNITS) for unit in units)


_FORMATS: dict[str, Test] = {
    "bsonobjectid": _pattern("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: _is_ipv4(text) or ("." in text and _is_ipv6(text)),
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89abAB]"),
    "uuid5": _uuid("5", "[89abAB]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _pattern(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _pattern(rf"rgb\(\s*{_COLOR}\s*,\s*{_COLOR}\s*,\s*{_COLOR}\s*\)"),
    "byte": _is_base64,
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not dns_label(text),
    "k8slongname": lambda text: not dns_subdomain(text),
}
