"""The kinds of flag values. Errors are worded as Go's flag library words them: scripts and people know them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kapi.api.duration import SECOND, format_duration, parse_duration
from kapi.options.flag import Kind


class NamedCertKey(NamedTuple):
    """A certificate and key for SNI, with the names they are for; without names, those of the certificate."""

    cert_file: str
    key_file: str
    names: tuple[str, ...] = ()


class PortRange(NamedTuple):
    """Ports from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, port: object) -> bool:
        return isinstance(port, int) and self.low <= port <= self.high


def _parse_bool(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _parse_int(text: str) -> int:
    if not re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]*|0[bB][01]+|[1-9][0-9]*)", text):
        raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    digits = text.lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    if value >= 2**63:
        raise ValueError(f'strconv.ParseInt: parsing "{text}": value out of range')
    return -value if text.startswith("-") else value


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": invalid syntax') from None


def _parse_duration(text: str) -> float:
    return parse_duration(text) / SECOND


def _parse_ip(text: str) -> str:
    import ipaddress  # costs milliseconds; most start-ups pass no address

    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        raise ValueError(f'failed to parse IP: "{text}"') from None


def _parse_strings(text: str) -> tuple[str, ...]:
    if '"' not in text:
        return tuple(text.split(",")) if text else ()
    import csv  # only for values with quotes in them

    try:
        return tuple(next(csv.reader([text], strict=True)))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _parse_int32s(text: str) -> tuple[int, ...]:
    return tuple(_parse_int(part) for part in text.split(",")) if text else ()


def _parse_pairs(text: str) -> dict[str, str]:
    """`a=1,b`: a key without a value has an empty one."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _parse_whole_pair(text: str) -> dict[str, str]:
    """`a=1,b` is one pair: the value may have commas in it."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"malformed pair, expect string=string: {text}")
    return {key.strip(): value.strip()}


def _parse_strict_pairs(text: str) -> dict[str, str]:
    for part in text.split(","):
        if part and "=" not in part:
            raise ValueError(f"{part} must be formatted as key=value")
    return _parse_pairs(text)


def _parse_multimap(text: str) -> dict[str, tuple[str, ...]]:
    """`component:value,…`, the component may be left out."""
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split(","):
        if part:
            component, colon, value = part.partition(":")
            key, item = (component.strip(), value.strip()) if colon else ("", part.strip())
            found[key] = (*found.get(key, ()), item)
    return found


def _join_multimaps(
    old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[str, ...]]:
    return {key: (*old.get(key, ()), *new.get(key, ())) for key in (*old, *new)}


def _parse_named_cert_keys(text: str) -> tuple[NamedCertKey, ...]:
    paths, colon, names = text.partition(":")
    if colon and not names.strip():
        raise ValueError("empty names list is not allowed")
    parts = paths.split(",")
    if len(parts) != 2:
        raise ValueError("expected comma separated certificate and key file paths")
    cert, key = (part.strip() for part in parts)
    return (NamedCertKey(cert, key, tuple(name.strip() for name in names.split(",")) if colon else ()),)


def _show_named_cert_keys(values: tuple[NamedCertKey, ...]) -> str:
    shown = (f"{v.cert_file},{v.key_file}" + (":" + ",".join(v.names) if v.names else "") for v in values)
    return f"[{';'.join(shown)}]"


def _parse_port_range(text: str) -> PortRange:
    text = text.strip()
    if "-" in text and "+" in text:
        raise ValueError(f"unable to parse port range: {text}")
    first, separator, second = text.partition("-" if "-" in text else "+")
    low = _parse_int(first)
    high = low if not separator else _parse_int(second) + (low if separator == "+" else 0)
    if max(low, high) > 65535:
        raise ValueError(f"the port range cannot be greater than 65535: {text}")
    if high < low:
        raise ValueError(f"end port cannot be less than start port: {text}")
    return PortRange(low, high)


def _parse_quantity(text: str) -> str:
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(|[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)", text):
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return text


def _parse_version_request(text: str) -> str:
    return text if text == "raw" or text.startswith("v") else str(_parse_bool(text)).lower()


def _show_bool(value: bool) -> str:
    return "true" if value else "false"


def _show_float(value: float) -> str:
    return f"{value:g}"


def _show_duration(seconds: float) -> str:
    return format_duration(round(seconds * SECOND))


def _show_list(values: tuple[object, ...]) -> str:
    return f"[{','.join(map(str, values))}]"


def _show_pairs(value: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value[key]}" for key in sorted(value))


def _show_multimap(value: Mapping[str, tuple[str, ...]]) -> str:
    return ",".join(f"{key}:{item}" if key else item for key in sorted(value) for item in value[key])


STRING: Kind[str] = Kind(name="string", zero="", parse=str, show=str)
BOOL: Kind[bool] = Kind(name="bool", zero=False, parse=_parse_bool, show=_show_bool, bare="true")
INT: Kind[int] = Kind(name="int", zero=0, parse=_parse_int, show=str)
LEVEL: Kind[int] = Kind(name="Level", zero=0, parse=_parse_int, show=str)
FLOAT: Kind[float] = Kind(name="float", zero=0.0, parse=_parse_float, show=_show_float)
FLOAT32: Kind[float] = Kind(name="float32", zero=0.0, parse=_parse_float, show=_show_float)
DURATION: Kind[float] = Kind(name="duration", zero=0.0, parse=_parse_duration, show=_show_duration)
IP: Kind[str] = Kind(name="ip", zero="", parse=_parse_ip, show=str)
QUANTITY: Kind[str] = Kind(name="quantity", zero="", parse=_parse_quantity, show=str)
PORT_RANGE: Kind[PortRange] = Kind(
    name="portRange", zero=PortRange(0, 0), parse=_parse_port_range, show=lambda value: f"{value.low}-{value.high}"
)
PATTERNS: Kind[str] = Kind(name="pattern=N,...", zero="", parse=str, show=str)
VERSION: Kind[str] = Kind(name="version", zero="false", parse=_parse_version_request, show=str, bare="true")

STRINGS: Kind[tuple[str, ...]] = Kind(
    name="strings", zero=(), parse=_parse_strings, show=_show_list, join=lambda old, new: old + new
)
STRING_ARRAY: Kind[tuple[str, ...]] = Kind(
    name="stringArray", zero=(), parse=lambda text: (text,), show=_show_list, join=lambda old, new: old + new
)
INT32S: Kind[tuple[int, ...]] = Kind(
    name="int32Slice", zero=(), parse=_parse_int32s, show=_show_list, join=lambda old, new: old + new
)
NAMED_CERT_KEYS: Kind[tuple[NamedCertKey, ...]] = Kind(
    name="namedCertKey",
    zero=(),
    parse=_parse_named_cert_keys,
    show=_show_named_cert_keys,
    join=lambda old, new: old + new,
)
PAIRS: Kind[Mapping[str, str]] = Kind(
    name="mapStringString", zero={}, parse=_parse_pairs, show=_show_pairs, join=lambda old, new: {**old, **new}
)
WHOLE_PAIRS: Kind[Mapping[str, str]] = Kind(
    name="mapStringString", zero={}, parse=_parse_whole_pair, show=_show_pairs, join=lambda old, new: {**old, **new}
)
STRING_TO_STRING: Kind[Mapping[str, str]] = Kind(
    name="stringToString",
    zero={},
    parse=_parse_strict_pairs,
    show=lambda value: f"[{_show_pairs(value)}]",
    join=lambda old, new: {**old, **new},
)
MULTIMAP: Kind[Mapping[str, tuple[str, ...]]] = Kind(
    name="colonSeparatedMultimapStringString",
    zero={},
    parse=_parse_multimap,
    show=_show_multimap,
    join=_join_multimaps,
)
