"""The store of one resource: every verb on stored objects, by the resource's strategy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource, GroupVersionKind
from kapi.api.names import path_segment
from kapi.api.objects import Object, Revision
from kapi.patch.apply.managed import keep_times
from kapi.registry.attributes import Admission, Attributes, Operation
from kapi.registry.deletion import Deletion
from kapi.registry.lifecycle import (
    before_create,
    before_update,
    check_resource_version,
    generate_name,
    give_name,
)
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.resource import Finish, Resource
from kapi.registry.strategy import Strategy
from kapi.registry.translate import storage_errors
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import KEEP, Decision, Listing, ObjectStore, Query, Remove, Write

# As upstream: so many names are tried before a generateName collision is the client's problem.
_NAME_TRIES = 8
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"

Transform: TypeAlias = Callable[[Object | None], Awaitable[Object]]
Pending: TypeAlias = list[Finish]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object a request is about. `subresource` names the endpoint below it, if any."""

    namespace: str
    name: str
    subresource: str = ""


class Store:
    def __init__(self, resource: Resource, objects: ObjectStore, admission: Admission, clock: Clock) -> None:
        self.resource = resource
        self.objects = objects
        self.clock = clock
        # The stores installed with this one: what is done to an object may depend on others.
        self.peers: Mapping[GroupResource, Store] = {}
        self._admission = admission
        self._namespaced = resource.names.namespaced

    def key(self, namespace: str, name: str) -> str:
        """Where an object is stored. A name that could leave its place is refused."""
        problems = path_segment(name)
        if problems:
            raise errors.BadRequest(f'Name parameter invalid: "{name}": {problems[0]}')
        prefix = self.objects.prefix
        return f"{prefix}{namespace}/{name}" if self._namespaced else prefix + name

    def shown_key(self, target: Target, options: WriteOptions) -> str:
        """The key as refusals of a write name it. As upstream, whose dry runs do not come to the root of the store."""
        key = self.key(target.namespace, target.name)
        return key[key.index(f"/{self.resource.stored_at}/") :] if options.dry_run else key

    def scope(self, namespace: str) -> str:
        """The prefix of a namespace's objects, or of all."""
        return f"{self.objects.prefix}{namespace}/" if namespace else self.objects.prefix

    # Reading

    async def get(self, namespace: str, name: str, revision: Revision | None = None) -> Entry:
        key = self.key(namespace, name)
        try:
            entry = await self.objects.get(key, revision)
        except kv.StorageError:
            with storage_errors(self.resource.group_resource, name, wanted=revision or 0):
                raise
        if entry is None:
            raise errors.NotFound(self.resource.group_resource, name)
        return entry

    async def list(self, query: Query) -> Listing:
        with storage_errors(self.resource.group_resource, wanted=query.revision or 0):
            return await self.objects.list(query)

    # Writing

    def attributes(
        self,
        call: Call,
        operation: Operation,
        target: Target,
        new: Object | None,
        old: Object | None,
        options: WriteOptions | DeleteOptions,
        *,
        kind: GroupVersionKind | None = None,
    ) -> Attributes:
        """`kind` is what the request's body is, where that is not the resource's own."""
        return Attributes(
            call=call,
            operation=operation,
            resource=self.resource.gvr,
            kind=kind or self.resource.kind_at(target.subresource),
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            object=new,
            old_object=old,
            options=options,
        )

    async def admit(self, attributes: Attributes) -> None:
        """For what is not stored by this: a deletion, an action on an object, a connection to it."""
        await self._admission.mutate(attributes)
        await self._admission.validate(attributes)

    async def create(self, call: Call, namespace: str, new: Object, options: WriteOptions) -> Entry:
        for left in reversed(range(_NAME_TRIES)):
            try:
                return await self._create(call, namespace, new, options)
            except errors.AlreadyExists as exists:
                metadata = new["metadata"]
                if not metadata.get("generateName"):
                    await self._tell_of_deletion(namespace, metadata["name"], exists)
                    raise
                if not left or not metadata["name"].startswith(metadata["generateName"][:58]):
                    raise _name_collision(exists) from None
                metadata["name"] = generate_name(metadata["generateName"])
        raise AssertionError("unreachable: the last try returns or raises")

    async def _tell_of_deletion(self, namespace: str, name: str, exists: errors.AlreadyExists) -> None:
        """What is in the way may be about to go: worth knowing for whoever creates it anew."""
        entry = await self.objects.get(self.key(namespace, name), None)
        if entry is not None and entry.object["metadata"].get("deletionTimestamp"):
            exists.message = f"object is being deleted: {exists.message}"

    async def _create(self, call: Call, namespace: str, new: Object, options: WriteOptions) -> Entry:
        attributes = self.attributes(
            call, "CREATE", Target(namespace=namespace, name=new["metadata"].get("name", "")), new, None, options
        )
        await self._admission.mutate(attributes)
        if self._namespaced and new["metadata"].get("namespace") != namespace:
            if new["metadata"].get("namespace"):
                raise errors.BadRequest(_OTHER_NAMESPACE)
            new["metadata"]["namespace"] = namespace
        hooks = self.resource.hooks
        if hooks is not None:
            give_name(new["metadata"])
        finish = await hooks.begin_create(call, new, options) if hooks is not None else None
        try:
            before_create(call, self.resource, new, self.clock.now())
            name = new["metadata"]["name"]
            attributes.name = attributes.name or name
            await self._admission.validate(attributes)
            key = self.key(namespace, name)
            new["metadata"].pop("resourceVersion", None)
            with storage_errors(self.resource.group_resource, name):
                entry = await self._insert(key, name, self.objects.encode(new), options)
        except BaseException:
            if finish is not None:
                await finish(False)
            raise
        if finish is not None:
            await finish(True)
        return entry

    async def _insert(self, key: str, name: str, value: bytes, options: WriteOptions) -> Entry:
        if not options.dry_run:
            return await self.objects.create(key, value)
        if await self.objects.get(key, None) is not None:
            raise errors.AlreadyExists(self.resource.group_resource, name)
        return self.objects.cacher.make_entry.unstored(key, value)

    async def update(
        self,
        call: Call,
        target: Target,
        transform: Transform,
        options: WriteOptions,
        *,
        strategy: Strategy | None = None,
        create: bool = False,
    ) -> tuple[Entry, bool]:
        """Replace the object by what `transform` makes of it; whether it was created. Retried when it was stale."""
        rules = strategy or self.resource.strategy
        key = self.key(target.namespace, target.name)
        hooks = self.resource.hooks if not target.subresource else None
        pending: Pending = []  # of the attempt under way
        gone: list[Object] = []  # the object, if its last finalizer goes with this

        async def settle(*, stored: bool) -> None:
            while pending:
                await pending.pop()(stored)

        async def change(current: Entry | None) -> Decision:
            await settle(stored=False)
            gone.clear()
            if current is None:
                return await self._create_on_update(call, target, transform, options, pending)
            old = current.object
            # A conversion may work in place; everything else leaves what it is given as it was.
            new = await transform(old if self.resource.conversion is None else current.object)
            check_resource_version(self.resource, rules, new, old)
            attributes = self.attributes(call, "UPDATE", target, new, old, options)
            await self._admission.mutate(attributes)
            if hooks is not None and (finish := await hooks.begin_update(call, new, old, options)):
                pending.append(finish)
            before_update(call, self.resource, rules, new, old)
            await self._admission.validate(attributes)
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            keep_times(old, new)
            if new == old and not current.outdated:
                return KEEP
            value = self.objects.encode(new)
            if goes_with_update(self.resource.strategy, new):
                gone.append(new)
                return Remove(value)
            return Write(value)

        try:
            with storage_errors(self.resource.group_resource, target.name, updating=True):
                if options.dry_run:
                    result = await self._dry_update(key, change, create=create)
                else:
                    result = await self.objects.update(key, change, create=create)
        except BaseException:
            await settle(stored=False)
            raise
        await settle(stored=True)
        if gone and self.resource.hooks is not None:
            await self.resource.hooks.after_delete(call, gone[0], DeleteOptions(dry_run=options.dry_run))
        return result

    async def _create_on_update(
        self, call: Call, target: Target, transform: Transform, options: WriteOptions, pending: Pending
    ) -> Decision:
        new = await transform(None)
        attributes = self.attributes(call, "CREATE", target, new, None, options)
        await self._admission.mutate(attributes)
        hooks = self.resource.hooks
        if hooks is not None and (finish := await hooks.begin_create(call, new, options)):
            pending.append(finish)
        before_create(call, self.resource, new, self.clock.now())
        await self._admission.validate(attributes)
        return Write(self.objects.encode(new))

    async def _dry_update(
        self, key: str, change: Callable[[Entry | None], Awaitable[Decision]], *, create: bool
    ) -> tuple[Entry, bool]:
        current = await self.objects.get(key, None)
        if current is None and not create:
            raise errors.NotFound(self.resource.group_resource, key.rpartition("/")[2])
        decision = await change(current)
        if decision == KEEP and current is not None:
            return current, False
        value = decision.last if isinstance(decision, Remove) else decision.value  # type: ignore[union-attr]
        if current is None:
            return self.objects.cacher.make_entry.unstored(key, value), True
        return self.objects.cacher.make_entry(key, value, current.revision, current.created), False

    async def delete(self, call: Call, target: Target, options: DeleteOptions) -> tuple[Entry, bool]:
        """Delete, or begin to; the object as it is now or last was, and whether it is gone."""

        # As upstream: to admission, the objects of a collection that is deleted have no names.
        admitted = replace(target, name="") if call.info.verb == "deletecollection" else target

        async def admit(old: Object) -> None:
            # An eviction deletes too, but was admitted as what it is.
            if not target.subresource:
                await self.admit(self.attributes(call, "DELETE", admitted, None, old, options))

        key = self.key(target.namespace, target.name)
        deletion = Deletion(call, self.resource, self.objects, options, self.clock, admit)
        with storage_errors(self.resource.group_resource, target.name):
            entry, gone = await deletion.run(key)
        if gone and self.resource.hooks is not None:
            await self.resource.hooks.after_delete(call, entry.object, options)
        return entry, gone

    async def discard(self, call: Call, target: Target, options: DeleteOptions) -> None:
        """Delete an object that cannot be read: nothing is asked of it, and nobody is told what it was."""
        await self.admit(self.attributes(call, "UNSAFE_DELETE", target, None, None, options))
        key = self.key(target.namespace, target.name)
        with storage_errors(self.resource.group_resource, target.name):
            await self.objects.discard(key, dry_run=options.dry_run)


def check_uid(resource: Resource, key: str, new: Object, old: Object | None) -> None:
    """An update that names a uid must name the stored object's; one that creates the object must name none."""
    wanted, found = new["metadata"].get("uid"), old["metadata"].get("uid") if old is not None else ""
    if wanted and wanted != found:
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
            f"failed: UID in precondition: {wanted}, UID in object meta: {found}"
        )
        raise errors.Conflict(resource.group_resource, new["metadata"].get("name", ""), why)


def goes_with_update(strategy: Strategy, new: Object) -> bool:
    """Whether an object being deleted has nothing left to wait for."""
    metadata = new["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds") and not (strategy.holds is not None and strategy.holds(new))


def _name_collision(exists: errors.AlreadyExists) -> errors.APIError:
    exists.args = (f"{exists.message}, the server was not able to generate a unique name for the object",)
    exists.message = exists.args[0]
    exists.details = {**(exists.details or {}), "retryAfterSeconds": 1}
    exists.retry_after = 1
    return exists
