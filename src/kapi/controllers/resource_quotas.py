"""Resource quotas: what a namespace uses is counted anew whenever some of it goes or a quota changes."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.admission.quota.amounts import Amounts, only, parsed, total
from kapi.admission.quota.counted import IGNORED
from kapi.admission.quota.evaluators import Evaluator
from kapi.admission.quota.scopes import selectors_of
from kapi.admission.resources import RESOURCE_QUOTAS
from kapi.api import errors
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue
from kapi.storage.cacher.entry import Entry

# Many objects may go at once: they are counted together.
_TOGETHER_SECONDS = 0.05
_SETTLED_SECONDS = 1.0
# As upstream's sync period: what no event tells of (a pod that should be gone by now) is noticed then.
_AGAIN_SECONDS = 300.0


class ResourceQuotas:
    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._resources = context.resources
        self._lookup = context.lookup
        self._evaluators = context.evaluators
        self._informers = context.informers
        self._changing = frozenset(context.evaluators.special)  # by updates too
        self._quotas: dict[str, dict[str, bytes]] = {}  # what each of a namespace demands, by name
        self._queue = WorkQueue(names.RESOURCE_QUOTA, self._reconcile)

    def start(self) -> list[WorkQueue]:
        self._informers.of(RESOURCE_QUOTAS).listen(self._quota_changed)
        self._informers.listen_to_all(self._content_changed, self._count_all)
        return [self._queue]

    def _quota_changed(self, change: Change) -> None:
        quotas = self._quotas.setdefault(change.namespace, {})
        before = quotas.pop(change.name, None)
        if change.value is not None:
            quotas[change.name] = demanded = _spec(change.value)
            # As upstream: a quota that is charged is not recalculated for that.
            if change.is_new or before != demanded:
                self._queue.add(change.path)
        elif not quotas:
            del self._quotas[change.namespace]

    def _content_changed(self, change: Change) -> None:
        quotas = self._quotas.get(change.namespace)
        if not quotas or change.resource in IGNORED:
            return
        if change.value is None or (not change.is_new and change.resource in self._changing):
            for name in quotas:
                self._queue.add_after(f"{change.namespace}/{name}", _TOGETHER_SECONDS)

    def _count_all(self) -> None:
        for namespace, quotas in self._quotas.items():
            for name in quotas:
                self._queue.add_after(f"{namespace}/{name}", _TOGETHER_SECONDS)

    async def _reconcile(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        path = f"/api/v1/namespaces/{namespace}/resourcequotas/{name}"
        try:
            quota = await self._client.get(path)
        except errors.NotFound:
            return
        hard = (quota.get("spec") or {}).get("hard") or {}
        status = quota.get("status") or {}
        used = only(parsed(status.get("used")), hard)
        used |= await self._usage(namespace, hard, selectors_of(quota))
        wanted = {"hard": hard, "used": {resource: str(used[resource]) for resource in sorted(used)}}
        if not _same(status, wanted):
            try:
                await self._client.update(f"{path}/status", {**quota, "status": wanted})
            except errors.NotFound:
                return
        # Writes under way when a quota changed were not charged to it, and are not here yet either.
        is_known = parsed(status.get("hard")) == parsed(hard)
        self._queue.add_after(key, _AGAIN_SECONDS if is_known else _SETTLED_SECONDS)

    async def _usage(self, namespace: str, hard: Iterable[str], scopes: list[Object]) -> dict[str, Quantity]:
        """What is used of everything that the quota limits and anything counts."""
        used: dict[str, Quantity] = {}
        for served in self._resources.all():
            resource = served.group_resource
            if not served.namespaced or resource in IGNORED:
                continue
            evaluator = self._evaluators.of(resource)
            counted = evaluator.names(hard)
            if not counted:
                continue
            used = total(dict.fromkeys(counted, Quantity(0)), used)
            if resource in self._changing:
                amounts = await self._measured(resource, namespace, evaluator, scopes)
            else:
                count = 0 if scopes else await self._resources.count(served, namespace)
                amounts = dict.fromkeys(counted, Quantity(count or 0))
            used = total(used, only(amounts, counted))
        return used

    async def _measured(
        self, resource: GroupResource, namespace: str, evaluator: Evaluator, scopes: list[Object]
    ) -> Amounts:
        amounts: Amounts = {}
        for entry in await self._lookup.list(resource, namespace):
            if scopes:
                found = entry.object
                if not all(evaluator.in_scope(scope, found) for scope in scopes):
                    continue
            amounts = total(amounts, _usage(entry, evaluator))
        return amounts


def _usage(entry: Entry, evaluator: Evaluator) -> Amounts:
    """Reckoned once per revision, except for what passes with time."""
    if entry.renderings is None:
        entry.renderings = {}
    used: Amounts | None = entry.renderings.get("quota")
    if used is None:
        found = entry.object
        used = evaluator.usage(found)
        if not found["metadata"].get("deletionTimestamp"):
            entry.renderings["quota"] = used
    return used


def _spec(value: bytes) -> bytes:
    """The part of a stored quota that is not its status or bookkeeping, near enough to see whether it changed."""
    at = value.find(b'"spec":')
    end = value.find(b',"status":', at)
    return value[at : end if end > at else None]


def _same(status: Object, wanted: Object) -> bool:
    """Whether a status says the same, in whatever form it has its quantities."""
    return all(parsed(status.get(part)) == parsed(wanted[part]) for part in ("hard", "used"))


def start(context: Context) -> list[WorkQueue]:
    return ResourceQuotas(context).start()
