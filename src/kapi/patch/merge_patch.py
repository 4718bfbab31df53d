"""JSON merge patch (RFC 7386): members replace or merge, null removes, lists are replaced whole."""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.patch.errors import BadPatch
from kapi.patch.values import copied


def apply(document: Object, patch: Any) -> Any:
    """The object after the patch; a list takes its place. BadPatch (400) for any other patch that is no object."""
    if isinstance(patch, list):
        return without_nulls(patch)
    if not isinstance(patch, dict):
        raise BadPatch("Invalid JSON Patch")
    result = copied(document)
    _merge(result, copied(patch))
    return result


def _merge(target: Object, patch: Object) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
            continue
        current = target.get(key)
        if isinstance(value, dict) and isinstance(current, dict):
            _merge(current, value)
        else:
            # Upstream drops nulls inside lists' objects only where no object was there before.
            target[key] = without_nulls(value) if isinstance(value, dict) or not isinstance(current, dict) else value


def without_nulls(value: Any) -> Any:
    """What remains of a value that merges into nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
