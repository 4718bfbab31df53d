"""The managers of `replicas`, as the scale subresource shows them, and back again.

Only who owns the parent's replicas appears on the Scale object; a write through it takes the field from its owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kapi.api.objects import Object
from kapi.patch.apply import managed
from kapi.patch.apply.fieldset import Fields, difference, from_paths, has
from kapi.patch.apply.managed import Managers, Owned

SCALE_VERSION = "autoscaling/v1"

# For each version of the parent the path of its replicas ("spec.replicas"); None where it has no scale subresource.
ReplicasPaths: TypeAlias = Mapping[str, str | None]

_REPLICAS = from_paths("spec.replicas")


def to_scale(parent: Object, replicas: ReplicasPaths) -> list[Object]:
    """The entries of a Scale, from those of its parent."""
    found: Managers = {}
    for manager, owned in managed.decode(managed.entries_of(parent), trusted=True).items():
        path = replicas.get(owned.api_version)
        if path and _owns(owned.fields, path):
            found[manager] = Owned(_REPLICAS, SCALE_VERSION, owned.time)
    return managed.encode(found)


def to_parent(parent: Object, scale: Object, api_version: str, replicas: ReplicasPaths) -> list[Object]:
    """The entries of the parent after its Scale was written, in the version it is stored from."""
    before = managed.decode(managed.entries_of(parent), trusted=True)
    after = managed.decode(managed.entries_of(scale), trusted=True)
    merged: Managers = {}
    for manager, owned in before.items():
        if owned.api_version not in replicas:
            continue
        path = replicas[owned.api_version]
        if not path or not _owns(owned.fields, path):
            merged[manager] = owned
        elif manager in after:
            merged[manager] = owned
            del after[manager]
        elif rest := difference(owned.fields, from_paths(path)):
            merged[manager] = owned._replace(fields=rest)
    path = replicas.get(api_version)
    for manager, owned in after.items():
        if path and _owns(owned.fields, "spec.replicas"):
            # As upstream: only managers that the parent knew have a time.
            time = before[manager].time if manager in before else None
            merged[manager] = Owned(from_paths(path), api_version, time)
    return managed.encode(merged)


def _owns(fields: Fields, path: str) -> bool:
    return has(fields, tuple(f"f:{name}" for name in path.split(".")))
