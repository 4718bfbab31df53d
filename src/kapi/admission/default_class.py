"""The class that is everybody's default, by an annotation: of storage, of ingress."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.admission.lookup import decoded
from kapi.api.objects import Object
from kapi.storage.cacher.entry import Entry


def default_class(entries: Iterable[Entry], annotations: Iterable[str]) -> str | None:
    """The name of the newest class that says so; the first by name among those equally new."""
    marked = [c for c in map(decoded, entries) if any(_says_so(c, annotation) for annotation in annotations)]
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    newest = max(marked, key=lambda c: str(c["metadata"].get("creationTimestamp") or ""), default=None)
    return None if newest is None else newest["metadata"]["name"]


def _says_so(found: Object, annotation: str) -> bool:
    return (found["metadata"].get("annotations") or {}).get(annotation) == "true"
