"""Deletion: at once, after a grace period, or when the last finalizer goes. As the generic registry's Delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import Clock, rfc3339
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.options import DeleteOptions
from kapi.registry.resource import Resource
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Decision, ObjectStore, Write

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class _DeleteNow(Exception):
    """Nothing holds the object back."""


class _AlreadyDeleting(Exception):
    """A graceful deletion is under way, and this request does not hasten it."""


class Deletion:
    """One delete request on one object."""

    def __init__(
        self,
        call: Call,
        resource: Resource,
        objects: ObjectStore,
        options: DeleteOptions,
        clock: Clock,
        admit: Callable[[Object], Awaitable[None]],
    ) -> None:
        self._call = call
        self._resource = resource
        self._objects = objects
        self._options = options
        self._clock = clock
        self._admit = admit
        self._graceful = False
        self._admitted: Entry | None = None

    async def run(self, key: str) -> tuple[Entry, bool]:
        """The object as it is now, or as it last was, and whether it is gone."""
        if self._options.grace_period is not None and self._options.grace_period < 0:
            self._options.grace_period = 1
        current = await self._objects.get(key, None)
        if current is None:
            raise kv.NotFound(key)
        check = self._resource.strategy.check_delete
        if check is not None:
            check(current.object)
        self._check_own_preconditions(current.object["metadata"])
        marked = False
        try:
            marked_entry = await self._mark(key, current)
            if marked_entry is not None:
                marked = True
                waits = self._held(marked_entry.object)
                if waits or self._options.grace_period or not self._graceful:
                    return marked_entry, False
                current = marked_entry
        except _AlreadyDeleting:
            return current, False
        if self._options.dry_run:
            return current, True
        try:
            if not marked:
                await self._admit_once(current)
            return await self._objects.delete(key, self._check), True
        except kv.NotFound:
            # Someone else finished what our own update began.
            if marked:
                return current, True
            raise

    async def _admit_once(self, entry: Entry) -> None:
        """Each state of the object is asked about once, however the deletion then goes."""
        if self._admitted is None or self._admitted.revision != entry.revision:
            await self._admit(entry.object)
            self._admitted = entry

    async def _mark(self, key: str, current: Entry) -> Entry | None:
        """Write the deletion into the object, if anything makes it wait; None when it can go at once."""

        async def change(entry: Entry | None) -> Decision:
            assert entry is not None
            await self._admit_once(entry)
            decoded = entry.object
            self._decide(decoded)
            return Write(self._objects.encode(decoded))

        try:
            if self._options.dry_run:
                decision = await change(current)
                assert isinstance(decision, Write)
                return self._objects.cacher.make_entry(key, decision.value, current.revision, current.created)
            marked, _ = await self._objects.update(key, change)
            return marked
        except _DeleteNow:
            return None

    def _decide(self, decoded: Object) -> None:
        """Change the metadata as the deletion demands, or raise what to do instead."""
        metadata = decoded["metadata"]
        self._check_preconditions(metadata)
        self._graceful = self._begin_grace(decoded)
        mark = self._resource.strategy.mark_deleting
        # What is marked in its own way (a namespace) is so once: a later delete changes nothing.
        is_marked = mark is not None and metadata.get("deletionTimestamp")
        finalizers = (metadata.get("finalizers") or []) if is_marked else self._finalizers(metadata)
        if finalizers != (metadata.get("finalizers") or []):
            if finalizers:
                metadata["finalizers"] = finalizers
            else:
                metadata.pop("finalizers", None)
        if self._graceful:
            return
        if not self._held(decoded):
            raise _DeleteNow
        if mark is not None:
            mark(decoded, rfc3339(self._clock.now()))
        else:
            self._mark_as_deleting(metadata)

    def _held(self, decoded: Object) -> bool:
        """Whether something must happen before the object can go."""
        holds = self._resource.strategy.holds
        return bool(decoded["metadata"].get("finalizers")) or (holds is not None and holds(decoded))

    def _check(self, entry: Entry) -> None:
        self._check_preconditions(entry.object["metadata"])

    def _check_preconditions(self, metadata: Object) -> None:
        # Named by kind, not by resource: as upstream.
        kind = GroupResource(*self._resource.group_kind)
        uid, version = self._options.uid, self._options.resource_version
        if uid is not None and uid != metadata.get("uid"):
            raise errors.Conflict(
                kind,
                metadata["name"],
                f"the UID in the precondition ({uid}) does not match the UID in record ({metadata.get('uid')}). "
                "The object might have been deleted and then recreated",
            )
        if version is not None and version != metadata.get("resourceVersion") and not self._graceful:
            raise errors.Conflict(
                kind,
                metadata["name"],
                f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
                f"({metadata.get('resourceVersion')}). The object might have been modified",
            )

    def _check_own_preconditions(self, metadata: Object) -> None:
        """A resource that is marked in its own way (a namespace) is checked first, in its own words: as upstream."""
        failed = self._resource.strategy.precondition_failed
        if not failed:
            return
        for name, wanted, found in (
            ("UID", self._options.uid, metadata.get("uid")),
            ("ResourceVersion", self._options.resource_version, metadata.get("resourceVersion")),
        ):
            if wanted is not None and wanted != found:
                why = f"{failed}: {name} in precondition: {wanted}, {name} in object meta: {found}"
                raise errors.Conflict(self._resource.group_resource, metadata["name"], why)

    def _begin_grace(self, decoded: Object) -> bool:
        """Whether the object is now being deleted gracefully (its metadata says so)."""
        period_of = self._resource.strategy.grace_period
        if period_of is None:
            return False
        metadata, options = decoded["metadata"], self._options
        if metadata.get("deletionTimestamp"):
            return self._hasten(metadata)
        period = period_of(self._call, decoded, options.grace_period)
        if period is None:
            return False
        options.grace_period = period
        metadata["deletionTimestamp"] = rfc3339(self._clock.now() + period)
        metadata["deletionGracePeriodSeconds"] = period
        if metadata.get("generation"):
            metadata["generation"] += 1
        return True

    def _hasten(self, metadata: Object) -> bool:
        """A second delete may only shorten the grace period."""
        running, wanted = metadata.get("deletionGracePeriodSeconds"), self._options.grace_period
        if running is None:
            return False
        if wanted is None or wanted >= running:
            raise _AlreadyDeleting
        due = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp()
        metadata["deletionTimestamp"] = rfc3339(due - running + wanted)
        metadata["deletionGracePeriodSeconds"] = wanted
        return True

    def _mark_as_deleting(self, metadata: Object) -> None:
        now = self._clock.now()
        if not metadata.get("deletionTimestamp") and metadata.get("generation"):
            metadata["generation"] += 1
        due = metadata.get("deletionTimestamp")
        if due is None or datetime.fromisoformat(due).timestamp() > now:
            metadata["deletionTimestamp"] = rfc3339(now)
        metadata["deletionGracePeriodSeconds"] = 0

    def _finalizers(self, metadata: Object) -> list[str]:
        """The finalizers with those of the garbage collector as the propagation policy demands."""
        present: list[str] = metadata.get("finalizers") or []
        if not self._resource.strategy.garbage_collected:
            return present
        wanted = [f for f in present if f not in (ORPHAN, FOREGROUND)]
        if self._orphans(present):
            wanted.append(ORPHAN)
        if self._foreground(present):
            wanted.append(FOREGROUND)
        return present if set(wanted) == set(present) else wanted

    def _orphans(self, present: list[str]) -> bool:
        options = self._options
        if options.orphan_dependents is not None:
            return options.orphan_dependents
        if options.propagation_policy is not None:
            return options.propagation_policy == "Orphan"
        for finalizer in present:
            if finalizer in (ORPHAN, FOREGROUND):
                return finalizer == ORPHAN
        return self._resource.strategy.orphan_by_default

    def _foreground(self, present: list[str]) -> bool:
        options = self._options
        if options.orphan_dependents is not None:
            return False
        if options.propagation_policy is not None:
            return options.propagation_policy == "Foreground"
        for finalizer in present:
            if finalizer in (ORPHAN, FOREGROUND):
                return finalizer == FOREGROUND
        return False
