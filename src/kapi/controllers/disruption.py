"""Disruption budgets: how many of the pods that they are about are healthy, and how many may be evicted."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from kapi.admission.resources import PODS
from kapi.api import errors
from kapi.api.clock import rfc3339
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.pod_scale import Scales, UnknownScale, controller_of
from kapi.controllers.work_queue import WorkQueue
from kapi.resources.core.pod_conditions import is_ready, set_condition
from kapi.storage.cacher.entry import Entry

BUDGETS = GroupResource("policy", "poddisruptionbudgets")
# How long an evicted pod may take to be marked as deleted, and one that is about to be disrupted to be so.
_DELETION_SECONDS = 120.0
_STALE_SECONDS = 120.0
_TOGETHER_SECONDS = 0.02
_TARGET = b'"DisruptionTarget"'


class PodSummary(NamedTuple):
    name: str
    ready: bool
    deleting: bool
    controller: Object | None


class Counts(NamedTuple):
    expected: int
    desired: int
    healthy: int
    disrupted: dict[str, str]  # evicted and not gone yet: when

    @property
    def allowed(self) -> int:
        # As upstream: a budget that has no pods yet must not let the first ones go.
        return max(self.healthy - self.desired, 0) if self.expected > 0 else 0


class DisruptionController:
    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._resources = context.resources
        self._lookup = context.lookup
        self._informers = context.informers
        self._budgets: dict[str, set[str]] = {}  # names by namespace
        self._queue = WorkQueue(names.DISRUPTION, self._reconcile)
        self._stale = WorkQueue(f"{names.DISRUPTION}/stale", self._reset_stale)

    def start(self) -> list[WorkQueue]:
        self._informers.of(BUDGETS).listen(self._budget_changed)
        self._informers.of(PODS).listen(self._pod_changed, self._count_all)
        return [self._queue, self._stale]

    def _budget_changed(self, change: Change) -> None:
        if change.value is None:
            budgets = self._budgets.get(change.namespace, set())
            budgets.discard(change.name)
            if not budgets:
                self._budgets.pop(change.namespace, None)
        else:
            self._budgets.setdefault(change.namespace, set()).add(change.name)
            self._queue.add(change.path)

    def _pod_changed(self, change: Change) -> None:
        for name in self._budgets.get(change.namespace, ()):
            self._queue.add_after(f"{change.namespace}/{name}", _TOGETHER_SECONDS)
        if change.value is not None and _TARGET in change.value:
            self._stale.add(change.path)

    def _count_all(self) -> None:
        for namespace, budgets in self._budgets.items():
            for name in budgets:
                self._queue.add(f"{namespace}/{name}")

    async def _reconcile(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}"
        try:
            budget = await self._client.get(path)
            try:
                counts = await self._count(budget, namespace)
                status = self._status(budget, counts)
            except UnknownScale as error:
                counts, status = None, self._failed(budget, str(error))
            if status != budget.get("status"):
                await self._client.update(f"{path}/status", {**budget, "status": status})
        except errors.NotFound:
            return
        if counts is not None and counts.disrupted:
            first = min(_seconds(since) for since in counts.disrupted.values())
            self._queue.add_after(key, max(first + _DELETION_SECONDS - self._clock.now(), _TOGETHER_SECONDS))

    async def _count(self, budget: Object, namespace: str) -> Counts:
        spec = budget.get("spec") or {}
        pods = await self._pods(spec.get("selector"), namespace)
        expected, desired = await self._desired(spec, pods, namespace)
        disrupted = self._disrupted(budget, pods)
        healthy = sum(1 for pod in pods if pod.ready and not pod.deleting and pod.name not in disrupted)
        return Counts(expected, desired, healthy, disrupted)

    async def _pods(self, selector: Object | None, namespace: str) -> list[PodSummary]:
        """No selector selects nothing, an empty one everything."""
        if selector is None:
            return []
        selected = selector_from_object(selector)
        entries = await self._lookup.list(PODS, namespace)
        return [_summary(entry) for entry in entries if selected.matches(entry.labels)]

    async def _desired(self, spec: Object, pods: list[PodSummary], namespace: str) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        at_most, at_least = spec.get("maxUnavailable"), spec.get("minAvailable", 0)
        if at_most is None and isinstance(at_least, int):
            return len(pods), at_least
        scales = Scales(self._client, self._resources, namespace)
        expected = await scales.total((pod.name, pod.controller) for pod in pods)
        if at_most is not None:
            return expected, max(expected - _share(at_most, expected), 0)
        return expected, _share(at_least, expected)

    def _disrupted(self, budget: Object, pods: list[PodSummary]) -> dict[str, str]:
        """The evicted pods that are neither gone nor so long overdue that they will not go."""
        told = (budget.get("status") or {}).get("disruptedPods") or {}
        now = self._clock.now()
        return {
            pod.name: told[pod.name]
            for pod in pods
            if not pod.deleting and pod.name in told and _seconds(told[pod.name]) + _DELETION_SECONDS >= now
        }

    def _status(self, budget: Object, counts: Counts) -> Object:
        generation = budget["metadata"].get("generation", 0)
        allowed = counts.allowed
        condition = {
            "status": "True" if allowed else "False",
            "observedGeneration": generation,
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
        }
        status: Object = {"observedGeneration": generation}
        if counts.disrupted:
            status["disruptedPods"] = counts.disrupted
        status |= {
            "disruptionsAllowed": allowed,
            "currentHealthy": counts.healthy,
            "desiredHealthy": counts.desired,
            "expectedPods": counts.expected,
            "conditions": self._conditions(budget, condition),
        }
        return status

    def _failed(self, budget: Object, why: str) -> Object:
        """As upstream's fail-safe: what is not known allows nothing."""
        status = dict(budget.get("status") or {})
        condition = {"status": "False", "reason": "SyncFailed", "message": why}
        if status.get("observedGeneration"):
            condition["observedGeneration"] = status["observedGeneration"]
        return {**status, "disruptionsAllowed": 0, "conditions": self._conditions(budget, condition)}

    def _conditions(self, budget: Object, wanted: Object) -> list[Object]:
        known = (budget.get("status") or {}).get("conditions") or []
        own: Object = next((c for c in known if c.get("type") == "DisruptionAllowed"), {})
        since = own.get("lastTransitionTime") if own.get("status") == wanted["status"] else None
        condition = {
            "type": "DisruptionAllowed",
            **wanted,
            "lastTransitionTime": since or rfc3339(self._clock.now()),
        }
        return [*(c for c in known if c.get("type") != "DisruptionAllowed"), condition]

    async def _reset_stale(self, key: str) -> None:
        """A pod that was to be disrupted and still runs after a while is so no longer."""
        namespace, _, name = key.partition("/")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        try:
            pod = await self._client.get(path)
            since = _disruption_since(pod)
            if since is None:
                return
            left = since + _STALE_SECONDS - self._clock.now()
            if left > 0:
                self._stale.add_after(key, left)
                return
            reset = {"type": "DisruptionTarget", "status": "False"}
            set_condition(pod["status"], reset, rfc3339(self._clock.now()))
            await self._client.update(f"{path}/status", pod)
        except errors.NotFound:
            return


def _summary(entry: Entry) -> PodSummary:
    """Read once per revision."""
    if entry.renderings is None:
        entry.renderings = {}
    found: PodSummary | None = entry.renderings.get("disruption")
    if found is None:
        pod = entry.object
        metadata = pod["metadata"]
        found = entry.renderings["disruption"] = PodSummary(
            metadata["name"], is_ready(pod), bool(metadata.get("deletionTimestamp")), controller_of(metadata)
        )
    return found


def _disruption_since(pod: Object) -> float | None:
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or status.get("phase") in ("Succeeded", "Failed"):
        return None
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            if condition.get("reason") == "TerminationByKubelet":
                return None
            return _seconds(condition.get("lastTransitionTime") or "1970-01-01T00:00:00Z")
    return None


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _share(value: int | str, of: int) -> int:
    """A number, or a percentage rounded up."""
    if isinstance(value, int):
        return value
    return -(-int(value.rstrip("%")) * of // 100)


def start(context: Context) -> list[WorkQueue]:
    return DisruptionController(context).start()
