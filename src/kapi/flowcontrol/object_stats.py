"""How many objects of a resource there are and how large they are, as its cache knows."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.gvk import GroupResource
from kapi.flowcontrol.work import Stats
from kapi.storage.cacher.cacher import Cacher

_SAMPLE = 16


class ObjectStats:
    """Of resources that are in a cache: what has not been asked for yet, or is served elsewhere, is not known."""

    def __init__(self, cacher: Callable[[GroupResource], Cacher | None]) -> None:
        self._cacher = cacher

    def __call__(self, group: str, resource: str) -> Stats | None:
        cacher = self._cacher(GroupResource(group, resource))
        if cacher is None or not cacher.ready:
            return None
        sizes = [len(entry.body) for entry in cacher.sample(_SAMPLE)]
        return Stats(len(cacher), sum(sizes) // len(sizes) if sizes else 0)
