"""The conditions of a namespace that is being deleted: what is left, what it waits for and what failed, as upstream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kapi.api.errors import APIError
from kapi.api.objects import Object
from kapi.controllers.resources import Served


@dataclass(slots=True)
class Left:
    """What is left in a namespace: the metadata of objects by resource, and why some could not be deleted."""

    remaining: dict[Served, list[Object]] = field(default_factory=dict)
    failures: dict[Served, APIError] = field(default_factory=dict)


def conditions(left: Left) -> Iterable[Object]:
    return (
        _condition(
            "NamespaceDeletionDiscoveryFailure", "", "", "ResourcesDiscovered", "All resources successfully discovered"
        ),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            "",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        _condition(
            "NamespaceDeletionContentFailure",
            _failed(left),
            "ContentDeletionFailed",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        _condition(
            "NamespaceContentRemaining",
            _remaining(left),
            "SomeResourcesRemain",
            "ContentRemoved",
            "All content successfully removed",
        ),
        _condition(
            "NamespaceFinalizersRemaining",
            _finalizers(left),
            "SomeFinalizersRemain",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    )


def _condition(kind: str, trouble: str, reason: str, fine_reason: str, fine: str) -> Object:
    if trouble:
        return {"type": kind, "status": "True", "reason": reason, "message": trouble}
    return {"type": kind, "status": "False", "reason": fine_reason, "message": fine}


def _failed(left: Left) -> str:
    if not left.failures:
        return ""
    messages = ", ".join(sorted(error.message for error in left.failures.values()))
    return f"Failed to delete all resource types, {len(left.failures)} remaining: {messages}"


def _remaining(left: Left) -> str:
    # As upstream: the dot is there even where no group follows.
    told = (
        f"{served.plural}.{served.group_version.group} has {len(items)} resource instances"
        for served, items in left.remaining.items()
    )
    return f"Some resources are remaining: {', '.join(sorted(told))}" if left.remaining else ""


def _finalizers(left: Left) -> str:
    counts: dict[str, int] = {}
    for items in left.remaining.values():
        for metadata in items:
            for finalizer in metadata.get("finalizers") or ():
                counts[finalizer] = counts.get(finalizer, 0) + 1
    told = sorted(f"{name} in {count} resource instances" for name, count in counts.items())
    return f"Some content in the namespace has finalizers remaining: {', '.join(told)}" if told else ""
