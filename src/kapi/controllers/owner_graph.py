"""The graph of owners: who depends on whom, by uid, kept in step with what is stored.

Only objects that have owners are in it, and those that wait for their dependents. Of an owner it knows the uid, and
where it was looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import orjson

from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers.informer import Change

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_OWNED, _DELETED = b'"ownerReferences":[', b'"deletionTimestamp":"'
_WAITING = (b'"foregroundDeletion"', b'"orphan"')


class Place(NamedTuple):
    """Where an object is, whoever may be there."""

    resource: GroupResource
    namespace: str
    name: str


class Owner(NamedTuple):
    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool  # its foreground deletion waits for the dependent


class Node:
    """An object with owners, or one that waits for its dependents: `waits` names the finalizer, if it is so."""

    __slots__ = ("deleting", "owners", "place", "uid", "waits")

    def __init__(self, place: Place, metadata: Object) -> None:
        self.place = place
        self.uid: str = metadata.get("uid", "")
        self.owners = owners_of(metadata)
        self.deleting = bool(metadata.get("deletionTimestamp"))
        finalizers = metadata.get("finalizers") or ()
        self.waits = next((f for f in (FOREGROUND, ORPHAN) if f in finalizers), "") if self.deleting else ""


class OwnerGraph:
    """`delete` is told the uid of each node that may have to go, `orphan` of each whose dependents are to be let go."""

    def __init__(self, delete: Callable[[str], None], orphan: Callable[[str], None]) -> None:
        self.nodes: dict[str, Node] = {}
        self._by_place: dict[Place, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}  # uids, by the owner's
        # Where owners were looked for, and whether they are there; None while that is being found out.
        self._known: dict[str, dict[Place, bool | None]] = {}
        self._looked_for: dict[Place, dict[str, None]] = {}
        self._delete = delete
        self._orphan = orphan

    def changed(self, change: Change) -> None:
        place = Place(change.resource, change.namespace, change.name)
        former = self.nodes.get(self._by_place.get(place, ""))
        node = _read(place, change.value)
        if former is not None and (node is None or node.uid != former.uid):
            self._remove(former)
            former = None
        if change.value is None:
            self._gone(place)
        elif node is not None:
            self._put(node, former)

    def restarted(self) -> None:
        """Some changes were missed: what was known of owners is to be found out again."""
        for uid in list(self._known):
            self._forget(uid)
        for uid in self.nodes:
            self._delete(uid)

    # Asking

    def dependents(self, uid: str) -> list[Node]:
        return [self.nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[Node]:
        """The dependents that an owner's foreground deletion waits for."""
        return [node for node in self.dependents(uid) if any(o.uid == uid and o.blocks for o in node.owners)]

    def is_settled(self, node: Node, places: Iterable[Place | None]) -> bool:
        """Whether all owners are known to be there, and none waits for this to go."""
        return all(
            place is not None
            and self._known.get(owner.uid, {}).get(place) is True
            and ((found := self.nodes.get(owner.uid)) is None or found.waits != FOREGROUND)
            for owner, place in zip(node.owners, places, strict=True)
        )

    def is_absent(self, uid: str, place: Place) -> bool:
        return self._known.get(uid, {}).get(place) is False

    def is_elsewhere(self, uid: str, place: Place) -> bool:
        """Whether an owner is known, but not at that place."""
        found = self.nodes.get(uid)
        if found is not None:
            return found.place != place
        return any(there and other != place for other, there in self._known.get(uid, {}).items())

    # Learning from those who look

    def look_for(self, uid: str, place: Place) -> None:
        """Said before an owner is looked for: if it goes meanwhile, that counts."""
        if uid in self._dependents:
            self._known.setdefault(uid, {}).setdefault(place, None)
            self._looked_for.setdefault(place, {})[uid] = None

    def found(self, uid: str, place: Place, *, there: bool) -> None:
        known = self._known.get(uid, {})
        if place in known and known[place] is not False:
            known[place] = there

    def missing(self, node: Node) -> None:
        """It was looked for and is not there, though nobody has told: its dependents look for themselves."""
        if self.nodes.get(node.uid) is node:
            self._remove(node)
            self._forget(node.uid)
            self._delete_dependents(node.uid)

    # Keeping

    def _put(self, node: Node, former: Node | None) -> None:
        before = former.owners if former is not None else ()
        self.nodes[node.uid] = node
        self._by_place[node.place] = node.uid
        if before != node.owners:
            for owner in node.owners:
                self._dependents.setdefault(owner.uid, {})[node.uid] = None
            kept = {owner.uid for owner in node.owners}
            for owner in before:
                if owner.uid not in kept:
                    self._unlink(owner.uid, node.uid)
            self._tell_unblocked(before, node.owners)
            self._delete(node.uid)
        if node.waits and (former is None or former.waits != node.waits):
            if node.waits == ORPHAN:
                self._orphan(node.uid)
            else:
                self._delete_dependents(node.uid)
                self._delete(node.uid)

    def _remove(self, node: Node) -> None:
        del self.nodes[node.uid]
        if self._by_place.get(node.place) == node.uid:
            del self._by_place[node.place]
        for owner in node.owners:
            self._unlink(owner.uid, node.uid)
        self._tell_unblocked(node.owners, ())

    def _unlink(self, owner: str, dependent: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(dependent, None)
            if not dependents:
                del self._dependents[owner]
                self._forget(owner)

    def _forget(self, owner: str) -> None:
        for place in self._known.pop(owner, ()):
            uids = self._looked_for[place]
            del uids[owner]
            if not uids:
                del self._looked_for[place]

    def _tell_unblocked(self, before: Iterable[Owner], now: Iterable[Owner]) -> None:
        still = {owner.uid for owner in now if owner.blocks}
        for owner in before:
            if owner.blocks and owner.uid not in still:
                found = self.nodes.get(owner.uid)
                if found is not None and found.waits == FOREGROUND:
                    self._delete(owner.uid)

    def _gone(self, place: Place) -> None:
        """Whoever was there has gone: so have all owners that were looked for there."""
        for uid in self._looked_for.get(place, ()):
            self._known[uid][place] = False
            self._delete_dependents(uid)

    def _delete_dependents(self, uid: str) -> None:
        for dependent in self._dependents.get(uid, ()):
            self._delete(dependent)


def owners_of(metadata: Object) -> tuple[Owner, ...]:
    return tuple(
        Owner(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            bool(reference.get("blockOwnerDeletion")),
        )
        for reference in metadata.get("ownerReferences") or ()
    )


def _read(place: Place, value: bytes | None) -> Node | None:
    """The node that an object is, if it has to be one. Most objects are told apart by a look at their bytes."""
    if value is None:
        return None
    if _OWNED not in value and not (_DELETED in value and any(word in value for word in _WAITING)):
        return None
    try:
        node = Node(place, orjson.loads(value).get("metadata") or {})
    except ValueError:
        return None  # in another encoding, or damaged: the server cannot serve it either
    return node if node.uid and (node.owners or node.waits) else None
