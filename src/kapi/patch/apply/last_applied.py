"""The way from kubectl's client-side apply to server-side apply.

Client-side apply keeps its last configuration in an annotation. What is there and unchanged since, kubectl's first
server-side apply may take over without a conflict; from then on it keeps the annotation up to date.
"""

from __future__ import annotations

from typing import Any

import orjson

from kapi.api.objects import Object
from kapi.patch.apply.check import problems
from kapi.patch.apply.compare import changes
from kapi.patch.apply.fieldset import Fields, difference, has
from kapi.patch.apply.managed import Manager
from kapi.patch.apply.shape import shape_of
from kapi.patch.apply.typed import field_set
from kapi.schema.types import Type

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS = 256 * 1024


def not_excused(
    conflicts: list[tuple[Manager, tuple[str, ...]]], live: Object, type: Type, api_version: str
) -> list[tuple[Manager, tuple[str, ...]]]:
    """The conflicts that remain when those about fields of the last configuration are allowed."""
    allowed = _allowed(live, type, api_version)
    return [(manager, path) for manager, path in conflicts if not has(allowed, path)]


def _allowed(live: Object, type: Type, api_version: str) -> Fields:
    """The fields of the last configuration that are still as it set them."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return {}
    try:
        last = orjson.loads(text)
    except ValueError:
        return {}
    shape = shape_of(type)
    if not isinstance(last, dict) or last.get("apiVersion") != api_version or problems(last, shape):
        return {}
    found = changes(last, live, shape)
    return difference(difference(field_set(last, shape), found.changed), found.removed)


def _annotations(obj: Object) -> dict[str, Any]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def refresh(obj: Object, config: Object) -> None:
    """Write the applied configuration into the annotation, if there is one; too large, the annotation goes."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return
    metadata = dict(config.get("metadata") or {})
    if metadata.get("annotations"):
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != ANNOTATION}
    config = {**config, "metadata": metadata}
    annotations[ANNOTATION] = orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        del annotations[ANNOTATION]
