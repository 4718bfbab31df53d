"""A definition as the server needs it to serve: names, scope, versions. Its schema stays in its bytes until used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kapi.api.objects import Object, Revision
from kapi.apiextensions.approval import is_protected
from kapi.storage.cacher.entry import Entry

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
NO_CONFLICTS = {"status": "True", "reason": "NoConflicts", "message": "no conflicts found"}


class DefinedNames(NamedTuple):
    """What an API of this kind is called; each must be free in its group."""

    plural: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    kind: str = ""
    list_kind: str = ""
    categories: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Object) -> DefinedNames:
        return cls(
            names.get("plural", ""),
            names.get("singular", ""),
            tuple(names.get("shortNames") or ()),
            names.get("kind", ""),
            names.get("listKind", ""),
            tuple(names.get("categories") or ()),
        )

    @property
    def told(self) -> Object:
        """As the status shows them."""
        told: Object = {"plural": self.plural, "singular": self.singular, "shortNames": list(self.short_names)}
        told |= {"kind": self.kind, "listKind": self.list_kind, "categories": list(self.categories)}
        return {key: value for key, value in told.items() if value or key in ("plural", "kind")}


class DefinedVersion(NamedTuple):
    name: str
    served: bool
    storage: bool
    warning: str  # of a deprecated version
    has_status: bool
    has_scale: bool


@dataclass(slots=True)
class Definition:
    """`accepted` are the names it may use; `conflict` says why some of those it asks for are not among them."""

    entry: Entry
    name: str
    uid: str
    group: str
    generation: int
    since: Revision  # everything written later was written by this schema
    namespaced: bool
    requested: DefinedNames
    accepted: DefinedNames
    conflict: tuple[str, str] | None
    established: bool
    terminating: bool
    versions: tuple[DefinedVersion, ...]
    by_webhook: bool  # how its versions are converted into each other
    settled_as: DefinedNames | None  # the names that its status has, when that is complete

    @property
    def webhook(self) -> Object:
        """Whom to ask for a conversion."""
        webhook: Object = self.entry.object["spec"]["conversion"].get("webhook") or {}
        return webhook

    @property
    def is_served(self) -> bool:
        return self.conflict is None or self.established

    @property
    def storage(self) -> str:
        return next((v.name for v in self.versions if v.storage), "")

    def version(self, name: str) -> DefinedVersion | None:
        """A served version."""
        return next((v for v in self.versions if v.name == name and v.served), None)

    def schemas(self) -> Mapping[str, Object]:
        """The schema of each version, read anew."""
        versions = self.entry.object["spec"]["versions"]
        return {v["name"]: (v.get("schema") or {}).get("openAPIV3Schema") or {} for v in versions}


def condition(obj: Object, kind: str) -> Object | None:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c.get("type") == kind), None)


def is_true(obj: Object, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def read(entry: Entry) -> Definition:
    obj = entry.object
    metadata, spec = obj["metadata"], obj["spec"]
    status = obj.get("status") or {}
    names = DefinedNames.of(spec["names"])
    generation = metadata.get("generation", 1)
    accepted = DefinedNames.of(status.get("acceptedNames") or {})
    return Definition(
        entry=entry,
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        group=spec["group"],
        generation=generation,
        since=Revision(0) if generation == 1 else entry.revision,
        namespaced=spec.get("scope") == "Namespaced",
        requested=names,
        accepted=accepted,
        conflict=None,
        established=is_true(obj, "Established"),
        terminating=is_true(obj, "Terminating"),
        versions=_versions(spec),
        by_webhook=(spec.get("conversion") or {}).get("strategy") == "Webhook",
        settled_as=accepted if _is_settled(obj) else None,
    )


def _is_settled(obj: Object) -> bool:
    """Whether its status says all there is to say while its names are its own."""
    if obj["metadata"].get("deletionTimestamp") or is_protected(obj["spec"]["group"]):
        return False
    accepted = condition(obj, "NamesAccepted") or {}
    return is_true(obj, "Established") and NO_CONFLICTS.items() <= accepted.items()


def _versions(spec: Object) -> tuple[DefinedVersion, ...]:
    served = sorted((v["name"] for v in spec["versions"] if v.get("served")), key=version_priority)
    current = [v["name"] for v in spec["versions"] if v.get("served") and not v.get("deprecated")]
    found = []
    for v in spec["versions"]:
        subresources = v.get("subresources") or {}
        found.append(
            DefinedVersion(
                v["name"],
                v.get("served", False),
                v.get("storage", False),
                _warning(spec, v, sorted(current, key=version_priority)) if v.get("deprecated") else "",
                subresources.get("status") is not None,
                subresources.get("scale") is not None,
            )
        )
    return tuple(sorted(found, key=lambda v: served.index(v.name) if v.served else len(served)))


def _warning(spec: Object, version: Object, current: list[str]) -> str:
    """Upstream's own words where the definition has none: they name the best version that is newer."""
    if "deprecationWarning" in version:
        return str(version["deprecationWarning"])
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    if current and version_priority(current[0]) < version_priority(version["name"]):
        text += f"; use {group}/{current[0]} {kind}"
    return text


_STAGES = {"": 0, "beta": 1, "alpha": 2}
_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?\Z")


def version_priority(name: str) -> tuple[int, int, int, str]:
    """Sorts as Kubernetes orders versions: stable before beta before alpha, higher first, other names last."""
    match = _KUBE_VERSION.match(name)
    if match is None:
        return (3, 0, 0, name)
    return (_STAGES[match[2] or ""], -int(match[1]), -int(match[3] or 0), "")
