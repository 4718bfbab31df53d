"""Interest: how many watches a write has to be told to."""

from __future__ import annotations

from typing import TypeAlias

from kapi.api.request_info import RequestInfo
from kapi.api.selectors import InvalidSelector, parse_field_selector

Watched: TypeAlias = tuple[str, str, str, str]  # group, resource, namespace, name
# Watches that select by this field are found by an index: as good as none of them sees any one write.
_INDEXED = {"pods": "spec.nodeName"}


class Interest:
    def __init__(self) -> None:
        self._watches: dict[Watched, int] = {}

    def add(self, info: RequestInfo) -> Watched | None:
        """Count a watch; what `remove` takes, None when it does not count."""
        if info.resource in _INDEXED and _selects(info.field_selector, _INDEXED[info.resource]):
            return None
        watched = (info.api_group, info.resource, info.namespace, info.name or info.selected_name)
        self._watches[watched] = self._watches.get(watched, 0) + 1
        return watched

    def remove(self, watched: Watched) -> None:
        left = self._watches[watched] - 1
        if left:
            self._watches[watched] = left
        else:
            del self._watches[watched]

    def in_writing(self, info: RequestInfo) -> int:
        """Watches of all objects, of those in the same namespace, and of this one."""
        watches = self._watches
        if not watches:
            return 0
        group, resource, namespace, name = info.api_group, info.resource, info.namespace, info.name
        count = watches.get((group, resource, "", ""), 0)
        if namespace:
            count += watches.get((group, resource, namespace, ""), 0)
        if name:
            count += watches.get((group, resource, namespace, name), 0)
        return count


def _selects(selector: str, field: str) -> bool:
    if not selector:
        return False
    try:
        return bool(parse_field_selector(selector).exact(field))
    except InvalidSelector:
        return False
