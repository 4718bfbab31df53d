"""Auto-registration: an APIService for every group-version that the servers behind the aggregator serve themselves."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.endpoints.discovery import Catalogue, GroupVersionEntry
from kapi.endpoints.priorities import PRIORITIES

AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
_OWN_GROUP = "apiregistration.k8s.io"


async def register_local(client: Client, catalogue: Catalogue) -> None:
    """Create what is missing, and remove what was registered for a group-version that is served no more."""
    builtin = [e for e in catalogue.entries() if e.group_version in PRIORITIES and e.resources]
    wanted = {_name(e): e for e in builtin if e.group_version.group != _OWN_GROUP}
    present = {item["metadata"]["name"]: item for item in (await client.list(PATH))["items"]}
    for name, entry in wanted.items():
        if name not in present:
            await _create(client, name, entry)
    for name, item in present.items():
        managed = (item["metadata"].get("labels") or {}).get(AUTOMANAGED)
        if managed == "onstart" and name not in wanted:
            await _remove(client, name)


def _name(entry: GroupVersionEntry) -> str:
    return f"{entry.group_version.version}.{entry.group_version.group}"


async def _create(client: Client, name: str, entry: GroupVersionEntry) -> None:
    spec: Object = {
        "version": entry.group_version.version,
        "groupPriorityMinimum": entry.priority,
        "versionPriority": entry.version_priority,
    }
    if entry.group_version.group:
        spec["group"] = entry.group_version.group
    service: Object = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name, "labels": {AUTOMANAGED: "onstart"}},
        "spec": spec,
    }
    try:
        await client.create(PATH, service)
    except errors.AlreadyExists:
        return  # another server on the same store was faster


async def _remove(client: Client, name: str) -> None:
    try:
        await client.delete(f"{PATH}/{name}")
    except errors.NotFound:
        return
