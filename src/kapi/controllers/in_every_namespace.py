"""What every namespace has one of: when a namespace comes, or what it has goes, the namespace is looked at again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapi.admission.resources import NAMESPACES
from kapi.api.gvk import GroupResource
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.namespaces import is_active
from kapi.controllers.work_queue import WorkQueue


def in_every_namespace(
    context: Context,
    name: str,
    ensure: Callable[[str], Awaitable[None]],
    resource: GroupResource,
    concerns: Callable[[Change], bool],
) -> WorkQueue:
    """`ensure` is asked about each active namespace, and again after each change of the resource that concerns it."""

    async def reconcile(namespace: str) -> None:
        if await is_active(context.client, namespace):
            await ensure(namespace)

    queue = WorkQueue(name, reconcile)
    known: set[str] = set()

    def namespace_changed(change: Change) -> None:
        if change.value is None:
            known.discard(change.name)
        elif change.is_new:
            known.add(change.name)
            queue.add(change.name)

    def look_everywhere() -> None:
        for namespace in known:
            queue.add(namespace)

    def changed(change: Change) -> None:
        if concerns(change):
            queue.add(change.namespace)

    context.informers.of(NAMESPACES).listen(namespace_changed)
    context.informers.of(resource).listen(changed, look_everywhere)
    return queue
