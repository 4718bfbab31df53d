"""Levels, versions and policies: what a namespace's labels demand of its pods."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from kapi.api.fields import FieldError, invalid

PRIVILEGED, BASELINE, RESTRICTED = LEVELS = ("privileged", "baseline", "restricted")
LATEST = 1 << 31
PREFIX = "pod-security.kubernetes.io/"
MODES = ("enforce", "audit", "warn")
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)

T = TypeVar("T")


class LevelVersion(NamedTuple):
    """`version` is the minor version of 1.x, or LATEST."""

    level: str
    version: int

    def __str__(self) -> str:
        return f"{self.level}:latest" if self.version == LATEST else f"{self.level}:v1.{self.version}"

    def equivalent(self, other: LevelVersion) -> bool:
        return self == other or self.level == other.level == PRIVILEGED


ANYTHING = LevelVersion(PRIVILEGED, LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    enforce: LevelVersion = ANYTHING
    audit: LevelVersion = ANYTHING
    warn: LevelVersion = ANYTHING

    @property
    def is_privileged(self) -> bool:
        return self.enforce.level == self.audit.level == self.warn.level == PRIVILEGED

    def of(self, mode: str) -> LevelVersion:
        found: LevelVersion = getattr(self, mode)
        return found

    def equivalent(self, other: Policy) -> bool:
        return all(self.of(mode).equivalent(other.of(mode)) for mode in MODES)


def parse_level(text: str) -> str | None:
    return text if text in LEVELS else None


def parse_version(text: str) -> int | None:
    if text == "latest":
        return LATEST
    match = _VERSION.fullmatch(text)
    return int(match[1]) if match is not None else None


BAD_LEVEL = f"must be one of {', '.join(LEVELS)}"
BAD_VERSION = 'must be "latest" or "v1.x"'


def is_stricter(one: str, other: str) -> bool:
    return LEVELS.index(one) > LEVELS.index(other)


def policy_of(labels: Mapping[str, str], defaults: Policy) -> tuple[Policy, list[FieldError]]:
    """A namespace's policy, and what is wrong with its labels: then it enforces as strictly as can be."""
    errors: list[FieldError] = []
    policy = defaults
    for mode in MODES:
        level, version = defaults.of(mode)
        if (text := labels.get(PREFIX + mode)) is not None:
            fallback = RESTRICTED if mode == "enforce" else PRIVILEGED
            level = _or(parse_level(text), fallback, mode, text, BAD_LEVEL, errors)
        if (text := labels.get(f"{PREFIX}{mode}-version")) is not None:
            version = _or(parse_version(text), LATEST, f"{mode}-version", text, BAD_VERSION, errors)
        policy = replace(policy, **{mode: LevelVersion(level, version)})
    return _warned(labels, policy), errors


def _or(parsed: T | None, fallback: T, label: str, text: str, problem: str, errors: list[FieldError]) -> T:
    if parsed is not None:
        return parsed
    errors.append(invalid(f"metadata.labels[{PREFIX}{label}]", text, problem))
    return fallback


def _warned(labels: Mapping[str, str], policy: Policy) -> Policy:
    """Who enforces a level warns of it too, unless the labels say otherwise."""
    if PREFIX + "warn" in labels or parse_level(labels.get(PREFIX + "enforce", "")) is None:
        return policy
    if not is_stricter(policy.enforce.level, policy.warn.level):
        return policy
    version = policy.warn.version if f"{PREFIX}warn-version" in labels else policy.enforce.version
    return replace(policy, warn=LevelVersion(policy.enforce.level, version))
