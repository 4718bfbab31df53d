"""What the parts of a pod spec need to know of the whole while they are validated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kapi.admission.plugins.service_account import token_source
from kapi.api.objects import Object

LINUX, WINDOWS = "linux", "windows"
# What the server itself mounts into nearly every pod: known to be fine by one comparison, without a walk.
API_ACCESS: Final = token_source()


@dataclass(slots=True, kw_only=True)
class Context:
    """One validation of one spec. `volumes` are those found valid, by name."""

    is_pod: bool
    allow_privileged: bool
    pod_name: str = ""
    is_mirror: bool = False
    grace_period: int | None = None
    restart_policy: str = ""
    host_users: bool = True
    volumes: dict[str, Object] = field(default_factory=dict)
    claims: frozenset[str] = frozenset()


def containers_with_path(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Every container of a spec, in the order upstream visits them."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{i}]"


def go_struct(value: Object, *fields: str) -> dict[str, Any]:
    """A bad value as upstream's internal type shows it: every field, by its Go name."""
    return {name[0].upper() + name[1:]: value.get(name) for name in fields}
