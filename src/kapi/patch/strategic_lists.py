"""Lists in strategic merge: their elements' directives, and the order of the merged list.

Elements of the patch keep the patch's order, elements only the server has keep the server's; the two are interleaved by
where both stood before.
"""

from __future__ import annotations

import json
from typing import Any

from kapi.api.objects import Object
from kapi.patch.errors import StrategicMergeError
from kapi.patch.strategic_meta import DIRECTIVE
from kapi.patch.values import go_format, go_string, go_type


def bad_type(wanted: str, value: Any) -> StrategicMergeError:
    given = go_string(None) if value is None else go_type(value)  # a verb of Go's that nil does not fit
    return StrategicMergeError(f"expected a {wanted}, but received a {given}")


def unknown_directive(patch: Object) -> StrategicMergeError:
    return StrategicMergeError(f"unknown patch type: {go_string(patch[DIRECTIVE])} in map: {go_format(patch)}")


def of_objects(*lists: list[Any]) -> bool:
    """Whether the elements are objects; they must be all of one type, and no lists."""
    first: str | None = None
    for item in (item for each in lists for item in each):
        if first is None:
            first = go_type(item)
            if isinstance(item, list):
                raise StrategicMergeError("lists of lists are not supported", code=422)
        elif first != go_type(item):
            shown = " ".join(go_format(each) for each in lists)
            raise StrategicMergeError(f"list element types are not identical: [{shown}]")
    if first is None:
        raise StrategicMergeError("no elements in any of the given slices")
    return first == "map[string]interface {}"


def key_of(item: Any, merge_key: str) -> Any:
    if not isinstance(item, dict):
        raise bad_type("map[string]interface {}", item)
    if merge_key not in item:
        raise StrategicMergeError(f"map: {go_format(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def identity(value: Any) -> Any:
    """What tells a value from others, to look it up by: a search of long lists in long lists would take minutes."""
    return ("", json.dumps(value, sort_keys=True)) if isinstance(value, (dict, list)) else value


def positions(items: list[Any], merge_key: str) -> dict[Any, int]:
    """Where the first element of each key is."""
    found: dict[Any, int] = {}
    for index, item in enumerate(items):
        if merge_key in item:
            found.setdefault(identity(item[merge_key]), index)
    return found


def follow_directives(original: list[Any], patch: list[Object], merge_key: str) -> tuple[list[Any], list[Any]]:
    """The two lists after `$patch` on elements: delete takes one out of the original, replace drops the original."""
    plain: list[Any] = []
    gone: set[Any] = set()
    replace = False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            gone.add(identity(key_of(item, merge_key)))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise StrategicMergeError("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(item)
    if replace:
        return plain, []
    return [each for each in original if merge_key not in each or identity(each[merge_key]) not in gone], plain


def deduplicated(items: list[Any]) -> list[Any]:
    """Each value once. As upstream, the last one moves into the place of one that is dropped."""
    items = list(items)
    places: dict[Any, set[int]] = {}
    for index, item in enumerate(items):
        places.setdefault(identity(item), set()).add(index)
    first = 0
    while first < len(items) - 1:
        value = identity(items[first])
        for at in sorted(places[value] - {first}):
            while at < len(items) and identity(items[at]) == value:
                last = items.pop()
                if at < len(items):
                    items[at] = last
                    moved = places[identity(last)]
                    moved.discard(len(items))
                    moved.add(at)
        places[value] = {first}
        first += 1
    return items


def check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Every element of the patch must be in the order list, in the same sequence; deletions are left aside."""
    if not order or not patch:
        return
    if merge_key:
        for item in patch:
            if not isinstance(item, dict):
                raise bad_type("map[string]interface {}", item)
        wanted = [item for item in patch if DIRECTIVE not in item]
    else:
        wanted = [item for item in patch if not (isinstance(item, dict) and DIRECTIVE in item)]
    rest = iter(order)
    for item in wanted:
        value = key_of(item, merge_key) if merge_key else item
        if not any((key_of(other, merge_key) if merge_key else other) == value for other in rest):
            given, listed = go_format(patch), go_format(order)
            raise StrategicMergeError(
                f"The order in patch list:\n{given}\n doesn't match $setElementOrder list:\n{listed}\n"
            )


def reordered(merged: list[Any], order: list[Any], server_order: list[Any], merge_key: str) -> list[Any]:
    """The merged list: elements named in `order` in that order, the others as the server had them, interleaved."""
    if merge_key:
        for index, each in enumerate(order):
            if not isinstance(each, dict):
                raise StrategicMergeError(f"value for key {index} is not a map")
    ranks = _ranks(order, merge_key)
    server = _ranks(server_order, merge_key)
    pairs = list(zip(_identities(merged, merge_key), merged, strict=True))
    named = _sorted([pair for pair in pairs if pair[0] in ranks], ranks)
    others = _sorted([pair for pair in pairs if pair[0] not in ranks], server)
    return _interleaved(others, named, server)


def _identities(items: list[Any], merge_key: str) -> list[Any]:
    return [identity(key_of(item, merge_key) if merge_key else item) for item in items]


def _ranks(items: list[Any], merge_key: str) -> dict[Any, int]:
    """The first place of each element."""
    ranks: dict[Any, int] = {}
    for index, item in enumerate(items if merge_key else ()):
        if not isinstance(item, dict):
            raise StrategicMergeError(f"value for key {index} is not a map")
    for index, each in enumerate(_identities(items, merge_key)):
        ranks.setdefault(each, index)
    return ranks


def _sorted(pairs: list[tuple[Any, Any]], ranks: dict[Any, int]) -> list[tuple[Any, Any]]:
    return sorted(pairs, key=lambda pair: ranks.get(pair[0], len(ranks)))


def _interleaved(left: list[tuple[Any, Any]], right: list[tuple[Any, Any]], server: dict[Any, int]) -> list[Any]:
    """Left elements go before the first right one that the server had behind them."""
    out: list[Any] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and (j >= len(right) or _before(left[i][0], right[j][0], server)):
            out.append(left[i][1])
            i += 1
        else:
            out.append(right[j][1])
            j += 1
    return out


def _before(left: Any, right: Any, server: dict[Any, int]) -> bool:
    return left in server and right in server and server[left] < server[right]
