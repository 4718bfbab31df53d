"""What is served now: every definition by its group and plural, kept in step with the cache of definitions.

A change is here before the write that made it is answered (on an embedded store), so the very next request sees it. A
definition costs its bytes; what serves it is built with its first request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from kapi.admission.matching import Match
from kapi.admission.versions import NotConverted
from kapi.api.gvk import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.apiextensions.conversion import ConversionFailed, Conversions
from kapi.apiextensions.converted import ConvertedKV
from kapi.apiextensions.custom import SUBRESOURCE_VERBS, TERMINATING_VERBS, VERBS, Custom
from kapi.apiextensions.definition import DefinedVersion, Definition, read, version_priority
from kapi.apiextensions.names import decide
from kapi.endpoints.discovery import SELECTABLE, GivenSchema, GroupVersionEntry, ResourceEntry, SubresourceEntry
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.install import Installer
from kapi.registry.resource import Resource
from kapi.registry.store import Store
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.window import CacheEvent
from kapi.telemetry.log import log

# As upstream: the priorities of all groups and versions that definitions bring.
GROUP_PRIORITY, VERSION_PRIORITY = 1000, 100


class Served:
    """A Watcher of the definitions. `changed` is told the name of each definition that needs looking after."""

    def __init__(
        self, cacher: Cacher, installer: Installer, conversions: Conversions, changed: Callable[[str], None]
    ) -> None:
        self.scope = cacher.prefix
        self.retired: list[Endpoint] = []  # to be closed by whoever looks after things
        self._cacher = cacher
        self._installer = installer
        self._conversions = conversions
        self._changed = changed
        self._definitions: dict[str, Definition] = {}
        self._groups: dict[str, dict[str, Definition]] = {}  # by group and plural
        self._endpoints: dict[str, dict[str, Endpoint]] = {}  # by definition and version; made when asked for
        self._entries: dict[str, list[GroupVersionEntry]] = {}  # by group; made when asked for
        self._loaded = False
        self._followers: list[Callable[[GroupVersion], None]] = []

    @property
    def loaded(self) -> bool:
        return self._loaded

    async def load(self, seconds: float) -> None:
        """Learn of all definitions, and of every change from then on."""
        await self._cacher.started(seconds)
        if not self._loaded:
            self._loaded = True
            self._cacher.attach(self)
            self._reload()

    def _reload(self) -> None:
        gone = set(self._definitions)
        for entry in self._cacher.select(self.scope):
            definition = read(entry)
            gone.discard(definition.name)
            self._put(definition)
        for name in gone:
            self._remove(name)

    # Watcher

    def deliver(self, event: CacheEvent) -> None:
        kind = event.seen_by(None)
        entry = event.shown_as(kind)
        try:
            if kind == "DELETED":
                self._remove(entry.key.rpartition("/")[2])
            else:
                self._put(read(entry))
        except (KeyError, TypeError, AttributeError) as error:
            # A definition that another server wrote in a form unknown here must not stop the others.
            log.error("definition_unreadable", key=entry.key, error=repr(error))

    def ended(self, error: kv.StorageError | None) -> None:
        """The cache was filled anew: what changed meanwhile is found by comparison."""
        self._reload()

    # Keeping

    def _put(self, new: Definition) -> None:
        former = self._definitions.get(new.name)
        if former is not None and former.uid == new.uid:
            if former.generation == new.generation:
                new.since = former.since
            if not new.accepted.plural:
                new.accepted = former.accepted
        group = self._groups.setdefault(new.group, {})
        others = [d.accepted for d in group.values() if d.name != new.name]
        new.accepted, new.conflict = decide(new.requested, new.accepted, others)
        self._definitions[new.name] = group[new.requested.plural] = new
        self._entries.pop(new.group, None)
        if former is None or not _serves_alike(former, new):
            self._drop_endpoints(new.name)
        self._changed(new.name)
        self._tell(new.group, _served(former) ^ _served(new))
        if former is not None and former.accepted != new.accepted:
            self._free_names(new)

    def _remove(self, name: str) -> None:
        former = self._definitions.pop(name, None)
        if former is None:
            return
        group = self._groups[former.group]
        group.pop(former.requested.plural, None)
        if not group:
            del self._groups[former.group]
        self._entries.pop(former.group, None)
        self._drop_endpoints(name)
        self._free_names(former)
        self._changed(name)
        self._tell(former.group, _served(former))

    def _tell(self, group: str, versions: Iterable[str]) -> None:
        for version in versions:
            for changed in self._followers:
                changed(GroupVersion(group, version))

    def _free_names(self, former: Definition) -> None:
        """Who waited for a name may have it now."""
        for waiting in [d for d in self._groups.get(former.group, {}).values() if d.conflict is not None]:
            self._put(replace(waiting))

    def _drop_endpoints(self, name: str) -> None:
        for endpoint in self._endpoints.pop(name, {}).values():
            endpoint.store.objects.cacher.end_watches()
            self.retired.append(endpoint)

    # Looking up

    def get(self, name: str) -> Definition | None:
        return self._definitions.get(name)

    def find(self, group: str, plural: str) -> Definition | None:
        return self._groups.get(group, {}).get(plural)

    def has_group_version(self, group: str, version: str) -> bool:
        found = self._groups.get(group)
        return found is not None and any(d.is_served and d.version(version) for d in found.values())

    # As the aggregator sees them

    def group_versions(self) -> Iterable[GroupVersion]:
        for group, definitions in self._groups.items():
            for version in frozenset[str]().union(*map(_served, definitions.values())):
                yield GroupVersion(group, version)

    def defines(self, group_version: GroupVersion) -> bool:
        """Whether a definition would have it served; it need not be established."""
        group, version = group_version
        return any(d.version(version) is not None for d in self._groups.get(group, {}).values())

    def follow(self, changed: Callable[[GroupVersion], None]) -> None:
        self._followers.append(changed)

    # Serving

    def endpoint(self, definition: Definition, version: DefinedVersion) -> Endpoint:
        endpoints = self._endpoints.get(definition.name)
        if endpoints is None:
            endpoints = self._endpoints[definition.name] = {}
        found = endpoints.get(version.name)
        if found is None:
            found = endpoints[version.name] = self._build(definition, version)
        return found

    def _build(self, definition: Definition, version: DefinedVersion) -> Endpoint:
        custom = Custom(definition, version, partial(self._is_terminating, definition.name))
        resource, convert = custom.resource(), self._conversions.of(definition)
        engine = self._installer.engine(resource.group_resource)
        converted = None if convert is None else ConvertedKV(engine, custom.forms(convert))
        make_entry = custom.make_entry(in_step=self._cacher.in_step, converted=converted)
        return self._installer.passing(resource, converted or engine, make_entry)

    def _is_terminating(self, name: str) -> bool:
        found = self._definitions.get(name)
        return found is not None and found.terminating

    def storage_endpoint(self, definition: Definition) -> Endpoint:
        """The endpoint of the storage version, served or not."""
        version = next(v for v in definition.versions if v.storage)
        return self.endpoint(definition, version)

    # As admission sees them

    def at(self, resource: GroupVersionResource) -> Resource | None:
        definition = self.find(resource.group, resource.resource)
        version = definition.version(resource.version) if definition is not None else None
        return self.endpoint(definition, version).resource if definition is not None and version is not None else None

    def matches(self, resource: GroupResource) -> list[Match]:
        definition = self.find(*resource)
        if definition is None:
            return []
        group, plural = resource
        kind = definition.accepted.kind
        return [
            Match(GroupVersionResource(group, v.name, plural), GroupVersionKind(group, v.name, kind))
            for v in definition.versions
            if v.served
        ]

    def store_of(self, kind: GroupVersionKind) -> Store | None:
        for definition in self._groups.get(kind.group, {}).values():
            version = definition.version(kind.version)
            if definition.accepted.kind == kind.kind and definition.is_served and version is not None:
                return self.endpoint(definition, version).store
        return None

    async def convert(self, resource: GroupResource, held: Object, api_version: str) -> Object:
        definition = self.find(*resource)
        convert = self._conversions.of(definition) if definition is not None else None
        if convert is None:
            return {**held, "apiVersion": api_version}
        try:
            (converted,) = await convert([held], api_version)
        except ConversionFailed as error:
            raise NotConverted(str(error)) from None
        return converted

    # Discovery

    def entries(self) -> Iterable[GroupVersionEntry]:
        for group in self._groups:
            yield from self.group_entries(group)

    def group_entries(self, group: str) -> list[GroupVersionEntry]:
        found = self._entries.get(group)
        if found is None:
            found = self._entries[group] = list(_entries(group, self._groups.get(group, {}).values()))
        return found


def _served(definition: Definition | None) -> frozenset[str]:
    """The names of its served versions."""
    return frozenset(v.name for v in definition.versions if v.served) if definition is not None else frozenset()


def _serves_alike(former: Definition, new: Definition) -> bool:
    """Whether what serves the former definition can go on to serve the new one."""
    return (former.uid, former.generation, former.accepted) == (new.uid, new.generation, new.accepted)


def _entries(group: str, definitions: Iterable[Definition]) -> Iterable[GroupVersionEntry]:
    resources: dict[str, list[ResourceEntry]] = {}
    for definition in definitions:
        if definition.is_served:
            for version in definition.versions:
                if version.served:
                    resources.setdefault(version.name, []).append(_resource_entry(definition, version))
    ordered = sorted(resources, key=version_priority)
    for position, name in enumerate(ordered):
        yield GroupVersionEntry(
            group_version=GroupVersion(group, name),
            resources=tuple(sorted(resources[name], key=lambda r: r.plural)),
            priority=GROUP_PRIORITY,
            version_priority=VERSION_PRIORITY - position,
        )


def _published(definition: Definition, version: str) -> Object:
    """The schema of a version, and the fields that may be selected by."""
    schema = definition.schemas()[version]
    spec = next(v for v in definition.entry.object["spec"]["versions"] if v["name"] == version)
    paths = [field["jsonPath"].removeprefix(".") for field in spec.get("selectableFields") or ()]
    return {**schema, SELECTABLE: [{"fieldPath": path} for path in paths]} if paths else schema


def _resource_entry(definition: Definition, version: DefinedVersion) -> ResourceEntry:
    names = definition.accepted
    subresources = []
    if version.has_status:
        subresources.append(SubresourceEntry(name="status", kind=names.kind, verbs=SUBRESOURCE_VERBS))
    if version.has_scale:
        scale = SubresourceEntry(name="scale", kind="Scale", group="autoscaling", version="v1", verbs=SUBRESOURCE_VERBS)
        subresources.append(scale)
    stored = next((v for v in definition.versions if v.storage and v.served), None)
    return ResourceEntry(
        plural=names.plural,
        singular=names.singular,
        kind=names.kind,
        namespaced=definition.namespaced,
        verbs=TERMINATING_VERBS if definition.terminating else VERBS,
        short_names=names.short_names,
        categories=names.categories,
        subresources=tuple(subresources),
        stored_as=(definition.group, stored.name, definition.requested.kind) if stored is not None else None,
        schema=GivenSchema(
            f"{definition.uid}/{definition.generation}/{version.name}", partial(_published, definition, version.name)
        ),
        given_list_kind=names.list_kind,
    )
