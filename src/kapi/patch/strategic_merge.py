"""Strategic merge patch: a merge patch that knows the type, so that lists merge by key or by value.

Directives in the patch steer it: `$patch: replace|delete` on an object or on an element of a list, `$retainKeys`,
`$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`. Lists and their order are in `strategic_lists`.
"""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.patch import strategic_lists as lists
from kapi.patch.errors import StrategicMergeError
from kapi.patch.merge_patch import without_nulls
from kapi.patch.strategic_meta import DIRECTIVE, DeleteFrom, Meta, SetOrder, without_directives
from kapi.patch.values import copied, go_format, go_string
from kapi.schema.types import Type

_RETAIN_KEYS = "$retainKeys"


def apply(document: Object, patch: Object | None, type: Type) -> Object:
    """The object after the patch; StrategicMergeError with the status upstream answers."""
    return _merge_objects(copied(document), copied(patch or {}), Meta(type))


def _merge_objects(original: Object, patch: Object, meta: Meta) -> Object:
    if DIRECTIVE in patch:
        return _whole(patch)
    _retain_keys(original, patch)
    for key in [k for k in patch if k.startswith(SetOrder.prefix)]:
        if key in patch:
            _merge_ordered(original, patch, key, meta)
    for key, value in patch.items():
        _merge_member(original, key, value, meta)
    return original


def _whole(patch: Object) -> Object:
    """What `$patch` makes of the object it stands in."""
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise StrategicMergeError(f"unknown patch type: {go_string(directive)} in map: {go_format(patch)}")


def _retain_keys(original: Object, patch: Object) -> None:
    """Clear what `$retainKeys` does not name; all that the patch sets must be named in it."""
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    malformed = StrategicMergeError("invalid patch format of retainKeys", code=400)
    if not isinstance(retained, list):
        raise malformed
    for key, value in patch.items():
        if value is None or key.startswith((DeleteFrom.prefix, SetOrder.prefix)):
            continue
        if key not in retained:
            raise malformed
    for key in [k for k in original if k not in retained]:
        del original[key]


def _merge_ordered(original: Object, patch: Object, directive: str, meta: Meta) -> None:
    """Merge one list together with its `$setElementOrder`; both leave the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise lists.bad_type("[]interface {}", order)
    key = SetOrder.target(directive)
    for source in (original, patch):
        if key in source and not isinstance(source[key], list):
            raise lists.bad_type("[]interface {}", source[key])
    element, strategy, merge_key = meta.of_list(key)
    lists.check_order(patch.get(key, []), order, merge_key)
    if key in original and key in patch:
        merged = _merge_lists(original[key], patch[key], element, strategy, merge_key)
    elif key in original:
        merged = original[key]
    elif key in patch:
        merged = without_directives(patch[key])
    else:
        return
    before = original.get(key, [])
    lists.of_objects(before, patch.pop(key, []))
    original[key] = lists.reordered(merged, order, before, merge_key)


def _merge_member(original: Object, key: str, value: Any, meta: Meta) -> None:
    deleting = key.startswith(DeleteFrom.prefix)
    if deleting:
        key = DeleteFrom.target(key)
    if value is None:
        original.pop(key, None)
        return
    current = original.get(key)
    kind = dict if isinstance(value, dict) else list if isinstance(value, list) else None
    if key not in original or kind is None or not isinstance(current, kind):
        if not deleting:
            _take(original, key, value)
    elif kind is dict:
        inner, strategy = meta.of_object(key)
        original[key] = value if strategy == "replace" else _merge_objects(current, value, inner)  # type: ignore[arg-type]
    else:
        element, strategy, merge_key = meta.of_list(key)
        if deleting:
            strategy = "delete"
        original[key] = _merge_lists(current, value, element, strategy, merge_key)  # type: ignore[arg-type]


def _take(original: Object, key: str, value: Any) -> None:
    """The patch's value where there is nothing to merge with: without its nulls and directives."""
    if isinstance(value, dict) and DIRECTIVE in value:
        original.pop(key, None)
    else:
        original[key] = without_directives(without_nulls(value))


def _merge_lists(original: list[Any], patch: list[Any], element: Meta, strategy: str, merge_key: str) -> list[Any]:
    if strategy not in ("merge", "delete"):
        return patch
    if not original and not patch:
        return original
    if not lists.of_objects(original, patch):
        if strategy == "delete":
            gone = {lists.identity(item) for item in patch}
            return [item for item in original if lists.identity(item) not in gone]
        merged = lists.deduplicated([*original, *patch])
        return lists.reordered(merged, patch, original, "")
    if not merge_key:
        raise StrategicMergeError(f"cannot merge lists without merge key for {element.go_kind}")
    original, patch = lists.follow_directives(original, patch, merge_key)
    merged = list(original)
    places = lists.positions(merged, merge_key)
    for item in patch:
        at = places.setdefault(lists.identity(lists.key_of(item, merge_key)), len(merged))
        if at == len(merged):
            merged.append(item)
        else:
            merged[at] = _merge_objects(merged[at], item, element)
    return lists.reordered(merged, patch, original, merge_key)
