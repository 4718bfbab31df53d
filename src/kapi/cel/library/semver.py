"""Semantic versions."""

from __future__ import annotations

from dataclasses import dataclass

from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.types import BOOL, INT, STRING, CelType, struct
from kapi.cel.values import EvaluationError

SEMVER = struct("kubernetes.Semver")
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


@dataclass(frozen=True, slots=True)
class Semver:
    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    @property
    def cel_type(self) -> CelType:
        return SEMVER

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and compare(self, other) == 0

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch, self.prerelease))


class SemverError(ValueError):
    """The text is no version."""


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise SemverError(f'Invalid character(s) found in {name.lower()} number "{text}"')
    if len(text) > 1 and text.startswith("0"):
        raise SemverError(f'{name} number must not contain leading zeroes "{text}"')
    return int(text)


def _identifier(text: str) -> int | str:
    if not text:
        raise SemverError("Prerelease is empty")
    if text.isascii() and text.isdigit():
        if len(text) > 1 and text.startswith("0"):
            raise SemverError(f'Numeric PreRelease version must not contain leading zeroes "{text}"')
        return int(text)
    if not _ALPHANUMERIC.issuperset(text):
        raise SemverError(f'Invalid character(s) found in prerelease "{text}"')
    return text


def parse(text: str) -> Semver:
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    for item in build.split(".") if plus else []:
        if not item:
            raise SemverError("Build meta data is empty")
        if not _ALPHANUMERIC.issuperset(item):
            raise SemverError(f'Invalid character(s) found in build meta data "{item}"')
    return Semver(
        _number(parts[0], "Major"),
        _number(parts[1], "Minor"),
        _number(patch, "Patch"),
        tuple(_identifier(item) for item in prerelease.split(".")) if dash else (),
        tuple(build.split(".")) if plus else (),
    )


def normalized(text: str) -> str:
    """Without a `v`, leading zeros and missing parts."""
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[position] = stripped if stripped[:1].isdigit() else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def compare(left: Semver, right: Semver) -> int:
    a, b = (left.major, left.minor, left.patch), (right.major, right.minor, right.patch)
    if a != b:
        return -1 if a < b else 1
    if not left.prerelease or not right.prerelease:
        return bool(right.prerelease) - bool(left.prerelease)
    # A number comes before any word.
    first = [(isinstance(item, str), item) for item in left.prerelease]
    second = [(isinstance(item, str), item) for item in right.prerelease]
    return (first > second) - (first < second)


def semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse(normalized(text) if normalize else text)
    except SemverError as error:
        raise EvaluationError(str(error)) from None


def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse(normalized(text) if normalize else text)
    except SemverError:
        return False
    return True


def library() -> Library:
    pair = (SEMVER, SEMVER)
    return Library(
        functions={
            "semver": (
                overload("string_to_semver", (STRING,), SEMVER, semver, prices.traversal),
                overload("string_bool_to_semver", (STRING, BOOL), SEMVER, semver, prices.traversal),
            ),
            "isSemver": (
                overload("is_semver_string", (STRING,), BOOL, is_semver, prices.traversal),
                overload("is_semver_string_bool", (STRING, BOOL), BOOL, is_semver, prices.traversal),
            ),
            "isGreaterThan": (method("semver_is_greater_than", pair, BOOL, lambda a, b: compare(a, b) == 1),),
            "isLessThan": (method("semver_is_less_than", pair, BOOL, lambda a, b: compare(a, b) == -1),),
            "compareTo": (method("semver_compare_to", pair, INT, compare),),
            "major": (method("semver_major", (SEMVER,), INT, lambda value: value.major),),
            "minor": (method("semver_minor", (SEMVER,), INT, lambda value: value.minor),),
            "patch": (method("semver_patch", (SEMVER,), INT, lambda value: value.patch),),
        },
    )
