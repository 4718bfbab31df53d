"""The graph of owners: who depends on whom, by uid, kept in step with what is stored.

Only objects that have owners are in it, and those that wait for their dependents; of an owner nothing but its uid.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import orjson

from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers.informer import Change

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_OWNED, _DELETED = b'"ownerReferences":[', b'"deletionTimestamp":"'
_WAITING = (b'"foregroundDeletion"', b'"orphan"')
_UID = re.compile(rb'"uid":"([^"]+)"')
_ABSENT_KEPT = 4096


class Owner(NamedTuple):
    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool  # its foreground deletion waits for the dependent


class Node:
    """An object with owners, or one that waits for its dependents: `waits` names the finalizer, if it is so."""

    __slots__ = ("deleting", "key", "name", "namespace", "owners", "resource", "uid", "waits")

    def __init__(self, change: Change, metadata: Object) -> None:
        self.resource: GroupResource = change.resource
        self.key = change.key
        self.namespace = change.namespace
        self.name = change.name
        self.uid: str = metadata.get("uid", "")
        self.owners = owners_of(metadata)
        self.deleting = bool(metadata.get("deletionTimestamp"))
        finalizers = metadata.get("finalizers") or ()
        self.waits = next((f for f in (FOREGROUND, ORPHAN) if f in finalizers), "") if self.deleting else ""


class OwnerGraph:
    """`delete` is told the uid of each node that may have to go, `orphan` of each whose dependents are to be let go."""

    def __init__(self, delete: Callable[[str], None], orphan: Callable[[str], None]) -> None:
        self.nodes: dict[str, Node] = {}
        self._by_key: dict[str, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}  # uids, by the owner's
        self._present: dict[str, str] = {}  # where owners were found, by their uids
        # Owners that are not there: uids of those that went, and uids with the places where they are not.
        self._absent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._delete = delete
        self._orphan = orphan

    def changed(self, change: Change) -> None:
        former = self.nodes.get(self._by_key.get(change.key, ""))
        node = _read(change)
        if former is not None and (node is None or node.uid != former.uid):
            self._remove(former)
            if change.value is None:
                self._gone(former.uid)
        elif former is None and change.value is None and change.previous is not None:
            self._look_for_dependents(change.previous)
        if node is not None:
            self._put(node, former if former is not None and former.uid == node.uid else None)

    def restarted(self) -> None:
        """Some changes were missed: what was known of owners is to be found out again."""
        self._present.clear()
        for uid in self.nodes:
            self._delete(uid)

    # Asking

    def dependents(self, uid: str) -> list[Node]:
        return [self.nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[Node]:
        """The dependents that an owner's foreground deletion waits for."""
        return [node for node in self.dependents(uid) if any(o.uid == uid and o.blocks for o in node.owners)]

    def is_absent(self, uid: str, where: str) -> bool:
        return (uid, "") in self._absent or (uid, where) in self._absent

    def is_elsewhere(self, uid: str, where: str) -> bool:
        return uid in self.nodes or self._present.get(uid, where) != where

    # Learning from those who looked

    def owner_found(self, uid: str, where: str) -> None:
        if uid in self._dependents and (uid, "") not in self._absent:
            self._present[uid] = where

    def owner_missing(self, uid: str, where: str = "") -> None:
        """It is not at that place, or nowhere."""
        if self._present.get(uid) == where or not where:
            self._present.pop(uid, None)
        self._absent[uid, where] = None
        if len(self._absent) > _ABSENT_KEPT:
            self._absent.popitem(last=False)

    def missing(self, node: Node) -> None:
        """It was looked for and is not there, though nobody has told: its dependents look for themselves."""
        if self.nodes.get(node.uid) is node:
            self._remove(node)
            self._present.pop(node.uid, None)
            self._delete_dependents(node.uid)

    def is_settled(self, node: Node, where: Iterable[str | None]) -> bool:
        """Whether all owners are known to be there, and none waits for this to go."""
        return all(
            path is not None
            and self._present.get(owner.uid) == path
            and ((found := self.nodes.get(owner.uid)) is None or found.waits != FOREGROUND)
            for owner, path in zip(node.owners, where, strict=True)
        )

    # Keeping

    def _put(self, node: Node, former: Node | None) -> None:
        before = former.owners if former is not None else ()
        self.nodes[node.uid] = node
        self._by_key[node.key] = node.uid
        if before != node.owners:
            for owner in before:
                self._unlink(owner.uid, node.uid)
            for owner in node.owners:
                self._dependents.setdefault(owner.uid, {})[node.uid] = None
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
        if self._by_key.get(node.key) == node.uid:
            del self._by_key[node.key]
        for owner in node.owners:
            self._unlink(owner.uid, node.uid)
        self._tell_unblocked(node.owners, ())

    def _unlink(self, owner: str, dependent: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(dependent, None)
            if not dependents:
                del self._dependents[owner]
                self._present.pop(owner, None)

    def _tell_unblocked(self, before: Iterable[Owner], now: Iterable[Owner]) -> None:
        still = {owner.uid for owner in now if owner.blocks}
        for owner in before:
            if owner.blocks and owner.uid not in still:
                found = self.nodes.get(owner.uid)
                if found is not None and found.waits == FOREGROUND:
                    self._delete(owner.uid)

    def _gone(self, uid: str) -> None:
        if uid in self._dependents:
            self.owner_missing(uid)
            self._delete_dependents(uid)

    def _delete_dependents(self, uid: str) -> None:
        for dependent in self._dependents.get(uid, ()):
            self._delete(dependent)

    def _look_for_dependents(self, value: bytes) -> None:
        """Of an object that has gone and was not in the graph. Its own uid is one of those in it."""
        if self._dependents and any(uid.decode() in self._dependents for uid in _UID.findall(value)):
            self._gone(orjson.loads(value)["metadata"].get("uid", ""))


def _read(change: Change) -> Node | None:
    """The node that an object is, if it has to be one. Most objects are told apart by a look at their bytes."""
    value = change.value
    if value is None:
        return None
    if _OWNED not in value and not (_DELETED in value and any(word in value for word in _WAITING)):
        return None
    try:
        node = Node(change, orjson.loads(value).get("metadata") or {})
    except ValueError:
        return None  # in another encoding, or damaged: the server cannot serve it either
    return node if node.uid and (node.owners or node.waits) else None


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
