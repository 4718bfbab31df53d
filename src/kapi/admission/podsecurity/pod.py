"""A pod as the standards look at it, and how they speak of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kapi.api.objects import Object


class Violation(NamedTuple):
    """`reason` in a few words; `detail` names who and what."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Pod(NamedTuple):
    """A pod, or what a template makes."""

    metadata: Object
    spec: Object

    @property
    def annotations(self) -> Object:
        return self.metadata.get("annotations") or {}

    @property
    def context(self) -> Object:
        return self.spec.get("securityContext") or {}

    @property
    def is_windows(self) -> bool:
        return (self.spec.get("os") or {}).get("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """In a user namespace, where root is nobody outside."""
        return self.spec.get("hostUsers") is False

    def containers(self) -> Iterator[Object]:
        for kind in ("initContainers", "containers", "ephemeralContainers"):
            yield from self.spec.get(kind) or ()

    def named(self, is_bad: Callable[[Object], object]) -> list[str]:
        """The names of the containers whose security context is such."""
        return [c.get("name", "") for c in self.containers() if is_bad(c.get("securityContext") or {})]


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def containers(names: list[str]) -> str:
    return f"{plural(len(names), 'container', 'containers')} {quoted(names)}"


def setters(*, pod: bool, names: list[str]) -> str:
    """Who says so: the pod, its containers, or both."""
    return " and ".join((["pod"] if pod else []) + ([containers(names)] if names else []))
