"""Discovery: what this server serves, told in the old documents and in the aggregated one.

One Catalogue is shared by the servers of a chain: each adds its group-versions, the aggregator tells of all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import orjson

from kapi.api.call import Call
from kapi.api.errors import MethodNotAllowed
from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.endpoints.negotiate import PLAIN, negotiate
from kapi.endpoints.respond import respond
from kapi.wire.messages import Response

_AGGREGATED = "apidiscovery.k8s.io"

SELECTABLE = "x-kubernetes-selectable-fields"  # in a published schema


@dataclass(frozen=True, slots=True, kw_only=True)
class SubresourceEntry:
    name: str
    kind: str
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GivenSchema:
    """A schema that is read when it is asked for; `token` changes with it."""

    token: str
    read: Callable[[], Object] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """A resource as discovery tells it. `stored_as` is the kind in its storage version, for the hash."""

    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[SubresourceEntry, ...] = ()
    stored_as: tuple[str, str, str] | None = None
    schema: GivenSchema | None = None  # of a custom resource
    given_list_kind: str = ""
    returns_deleted: bool = False  # as documents tell it

    @property
    def list_kind(self) -> str:
        return self.given_list_kind or f"{self.kind}List"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVersionEntry:
    """`priority` orders groups, `version_priority` the versions of one group: higher comes first."""

    group_version: GroupVersion
    resources: tuple[ResourceEntry, ...]
    priority: int
    version_priority: int


class Catalogue:
    """Everything served. Sources are asked anew each time: definitions come and go."""

    def __init__(self) -> None:
        self._sources: list[Callable[[], Iterable[GroupVersionEntry]]] = []

    def add(self, source: Callable[[], Iterable[GroupVersionEntry]]) -> None:
        self._sources.append(source)

    def entries(self, group: str | None = None) -> list[GroupVersionEntry]:
        """All group-versions (of that group), best first; the legacy group is among them."""
        served = [entry for source in self._sources for entry in source()]
        if group is not None:
            served = [entry for entry in served if entry.group_version.group == group]
        # A name that was registered for what is served here anyway adds nothing to it.
        told = {entry.group_version for entry in served if entry.resources}
        found = [entry for entry in served if entry.resources or entry.group_version not in told]
        best: dict[str, int] = {}
        for entry in found:
            name = entry.group_version.group
            best[name] = max(best.get(name, 0), entry.priority)
        return sorted(
            found,
            key=lambda e: (-best[e.group_version.group], e.group_version.group, -e.version_priority),
        )

    def groups(self) -> dict[str, list[GroupVersionEntry]]:
        groups: dict[str, list[GroupVersionEntry]] = {}
        for entry in self.entries():
            groups.setdefault(entry.group_version.group, []).append(entry)
        return groups

    def group(self, name: str) -> list[GroupVersionEntry]:
        return self.entries(name)


def storage_version_hash(group: str, version: str, kind: str) -> str:
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


# The old documents


async def answer(call: Call, document: Object, *, any_method: bool = False) -> Response:
    """A discovery document, as JSON or YAML."""
    if call.request.method != "GET" and not any_method:
        raise MethodNotAllowed
    # What answers any method is the aggregator's own.
    form = negotiate(call.request.headers.get("accept"), routed=not any_method, transforming=False)
    return await respond(call, 200, orjson.dumps(document), form)


def api_versions(address: str) -> Object:
    """`/api`: the versions of the legacy group."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def api_group_list(catalogue: Catalogue) -> Object:
    """`/apis`."""
    groups = [_api_group(versions) for name, versions in catalogue.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(versions: list[GroupVersionEntry]) -> Object:
    """`/apis/<group>`."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_api_group(versions)}


def _api_group(versions: list[GroupVersionEntry]) -> Object:
    told = [{"groupVersion": str(v.group_version), "version": v.group_version.version} for v in versions]
    return {"name": versions[0].group_version.group, "versions": told, "preferredVersion": told[0]}


def api_resource_list(entry: GroupVersionEntry) -> Object:
    """`/api/v1` and `/apis/<group>/<version>`."""
    resources: list[Object] = []
    for resource in entry.resources:
        resources.append(_api_resource(resource))
        resources += [_api_subresource(resource, sub) for sub in resource.subresources]
    head: Object = {"kind": "APIResourceList"}
    if entry.group_version.group:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": str(entry.group_version), "resources": resources}


def _api_resource(resource: ResourceEntry) -> Object:
    told: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        told["shortNames"] = list(resource.short_names)
    if resource.categories:
        told["categories"] = list(resource.categories)
    if resource.stored_as is not None:
        told["storageVersionHash"] = storage_version_hash(*resource.stored_as)
    return told


def _api_subresource(resource: ResourceEntry, sub: SubresourceEntry) -> Object:
    told: Object = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.group or sub.version:
        told |= {"group": sub.group, "version": sub.version}
        if not sub.group:
            del told["group"]
    return {**told, "kind": sub.kind, "verbs": list(sub.verbs)}


# The aggregated document


def aggregated_version(accept: str | None) -> str | None:
    """The version of aggregated discovery that a client prefers to the old documents, if it does."""
    for clause in (accept or "").split(","):
        media_type, *params = (p.strip() for p in clause.split(";"))
        if media_type not in ("application/json", "*/*", "application/*"):
            continue
        given = dict(p.partition("=")[::2] for p in params)
        if given.get("as") == "APIGroupDiscoveryList" and given.get("g") == _AGGREGATED:
            if given.get("v") == "v2":
                return given["v"]
        elif not given.keys() & {"as", "v", "g"}:
            return None
    return None


class AggregatedGroups:
    """The groups' parts of an aggregated document, each encoded once until something changes in it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[GroupVersionEntry], bytes]] = {}

    def encode(self, groups: Iterable[list[GroupVersionEntry]]) -> bytes:
        """A JSON list of all that are there now."""
        kept: dict[str, tuple[list[GroupVersionEntry], bytes]] = {}
        for versions in groups:
            name = versions[0].group_version.group
            known = self._kept.get(name)
            kept[name] = (
                known
                if known is not None and known[0] == versions
                else (versions, orjson.dumps(_group_discovery(versions)))
            )
        self._kept = kept
        return b"[%b]" % b",".join([part for _, part in kept.values()])


async def aggregated_answer(call: Call, items: bytes, version: str) -> Response:
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": f"{_AGGREGATED}/{version}", "metadata": {}}
    body = b'%b,"items":%b}' % (orjson.dumps(head)[:-1], items)
    tag = hashlib.sha512(body).hexdigest().upper()
    headers = [(b"etag", f'"{tag}"'.encode()), (b"vary", b"Accept"), (b"cache-control", b"public")]
    if call.request.headers.get("if-none-match") == f'"{tag}"':
        return Response(304, headers)
    response = await respond(call, 200, body, PLAIN)
    media_type = f"application/json;g={_AGGREGATED};v={version};as=APIGroupDiscoveryList"
    response.headers[0] = (b"content-type", media_type.encode())
    response.headers += headers
    return response


def _group_discovery(versions: list[GroupVersionEntry]) -> Object:
    group = versions[0].group_version.group
    return {
        "metadata": {"name": group} if group else {},
        "versions": [_version_discovery(v) for v in versions],
    }


def _version_discovery(entry: GroupVersionEntry) -> Object:
    version = entry.group_version.version
    if not entry.resources:
        # Registered for a server that does not tell what it has.
        return {"version": version, "freshness": "Stale"}
    resources = [_resource_discovery(entry.group_version, resource) for resource in entry.resources]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _resource_discovery(group_version: GroupVersion, resource: ResourceEntry) -> Object:
    # As upstream: only custom resources repeat the group-version that they are told in.
    own = group_version if resource.schema is not None else GroupVersion("", "")
    told: Object = {
        "resource": resource.plural,
        "responseKind": {"group": own.group, "version": own.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        told["shortNames"] = list(resource.short_names)
    if resource.categories:
        told["categories"] = list(resource.categories)
    if resource.subresources:
        told["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": {
                    "group": sub.group if sub.version else own.group,
                    "version": sub.version or own.version,
                    "kind": sub.kind,
                },
                "verbs": list(sub.verbs),
            }
            for sub in resource.subresources
        ]
    return told
