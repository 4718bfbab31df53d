"""Named formats: `format.dns1123Label().validate(name)` gives what is wrong, or nothing."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from kapi.api import names
from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.library.urls import UrlError, parse
from kapi.cel.timestamps import parse_timestamp
from kapi.cel.types import STRING, CelType, list_of, optional_of, struct
from kapi.cel.values import NONE, EvaluationError, Optional

FORMAT = struct("kubernetes.NamedFormat")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """`weight` stands for the length of the pattern that upstream uses: the cost depends on it."""

    name: str
    check: Check
    weight: int

    @property
    def cel_type(self) -> CelType:
        return FORMAT

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _prefix(check: Check) -> Check:
    """A name that something is to be appended to: a trailing dash does no harm."""

    def run(text: str) -> list[str]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return run


def _uri(text: str) -> list[str]:
    try:
        parse(text, request=True)
    except UrlError as error:
        return [f'parse "{text}": {error}']
    return []


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return [] if text else ["invalid base64"]


def _date(text: str) -> list[str]:
    try:
        if _DATE.fullmatch(text) and date.fromisoformat(text):
            return []
    except ValueError:
        pass
    return ["invalid date"]


def _datetime(text: str) -> list[str]:
    try:
        return [] if parse_timestamp(text) is not None else ["invalid datetime"]
    except EvaluationError:
        return ["invalid datetime"]


FORMATS: dict[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", names.dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.dns_1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(names.dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(names.dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(names.dns_1035_label), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _uuid, 79),
    "byte": NamedFormat("byte", _byte, 84),
    "date": NamedFormat("date", _date, 104),
    "datetime": NamedFormat("datetime", _datetime, 104),
}


def validate(named: NamedFormat, text: str) -> Optional:
    problems = named.check(text)
    return Optional(problems) if problems else NONE


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(found) if found is not None else NONE


def _price(named: Any, text: Any, _: Any) -> int:
    return int(math.ceil((1.0 + len(text)) * prices.TRAVERSAL) * math.ceil(named.weight * prices.REGEX))


def library() -> Library:
    def constant(key: str) -> Any:
        return lambda: FORMATS[key]

    problems = optional_of(list_of(STRING))
    return Library(
        functions={
            "validate": (method("format-validate", (FORMAT, STRING), problems, validate, _price),),
            "format.named": (overload("format-named", (STRING,), optional_of(FORMAT), _named),),
            **{f"format.{key}": (overload(f"format.{key}", (), FORMAT, constant(key)),) for key in FORMATS},
        },
    )
