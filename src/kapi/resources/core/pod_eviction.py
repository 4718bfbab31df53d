"""Eviction: a deletion that asks the pod's disruption budget first."""

from __future__ import annotations

from dataclasses import replace

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import invalid
from kapi.api.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object
from kapi.patch.apply.update import track_update
from kapi.registry.options import DeleteOptions, WriteOptions, check_delete_options
from kapi.registry.resource import Action
from kapi.registry.store import Store, Target
from kapi.resources.core.pod_binding import SUCCESS
from kapi.resources.core.pod_conditions import is_ready, set_condition
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Decision, Query, Write

EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_BUDGETS = GroupResource("policy", "poddisruptionbudgets")
_BUDGET = GroupResource("policy", "poddisruptionbudget")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_TRIES = 3
_MOST_DISRUPTED = 2000
_UNBUDGETED = ("Succeeded", "Failed", "Pending")


async def evict(call: Call, store: Store, target: Target, eviction: Object, options: WriteOptions) -> Object:
    name = eviction["metadata"].get("name", "")
    if name != target.name:
        raise errors.BadRequest("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions") or {}
    _check_options(given, name, options)
    deletion = _deletion(given, options)
    dry_run = given.get("dryRun") or []
    for left in reversed(range(_TRIES)):
        pod = (await store.get(target.namespace, name)).object
        own = _Attempt(call, store, replace(target, name=name), deletion, dry_run)
        try:
            if _needs_no_budget(pod):
                finished = pod["status"].get("phase") in ("Succeeded", "Failed")
                at = "" if finished or pod["metadata"].get("deletionTimestamp") else _version(pod)
                await own.delete(at)
            else:
                await _evict_within_budget(own, pod)
            return SUCCESS
        except errors.Conflict:
            if deletion.resource_version is not None or not left:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _check_options(given: Object, name: str, options: WriteOptions) -> None:
    field = "ignoreStoreReadErrorWithClusterBreakingPotential"
    if given.get(field):
        detail = "can not be set for pod eviction, try after removing the option"
        raise errors.Invalid(GroupKind("policy", "Eviction"), name, [invalid(f"deleteOptions.{field}", True, detail)])
    dry_run = given.get("dryRun") or []
    if options.dry_run and dry_run and dry_run != ["All"]:
        told = " ".join(dry_run)
        raise errors.APIError(f"Non-matching dry-run options in request and content: [All] and [{told}]")


def _deletion(given: Object, options: WriteOptions) -> DeleteOptions:
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=options.dry_run or bool(given.get("dryRun")),
        grace_period=given.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=given.get("orphanDependents"),
        propagation_policy=given.get("propagationPolicy"),
    )


def _version(pod: Object) -> str:
    version: str = pod["metadata"]["resourceVersion"]
    return version


def _needs_no_budget(pod: Object) -> bool:
    return pod["status"].get("phase") in _UNBUDGETED or bool(pod["metadata"].get("deletionTimestamp"))


class _Attempt:
    """One try to delete the pod, marked with the reason why."""

    def __init__(self, call: Call, store: Store, target: Target, deletion: DeleteOptions, dry_run: list[str]) -> None:
        self.call = call
        self.store = store
        self.target = target
        self.deletion = deletion
        self._dry_run = dry_run

    async def delete(self, version: str = "") -> None:
        """Delete the pod; only if it still has that `version`, where one is given."""
        asked = self.deletion
        options = DeleteOptions(
            dry_run=asked.dry_run,
            grace_period=asked.grace_period,
            uid=asked.uid,
            resource_version=asked.resource_version if asked.resource_version is not None else version or None,
            orphan_dependents=asked.orphan_dependents,
            propagation_policy=asked.propagation_policy,
        )
        if not options.dry_run:
            marked = await self._mark(options)
            if options.resource_version is not None:
                options.resource_version = str(marked.revision)
        check_delete_options(options, self._dry_run)
        await self.store.delete(self.call, self.target, options)

    async def _mark(self, options: DeleteOptions) -> Entry:
        store = self.store

        async def change(entry: Entry | None) -> Decision:
            assert entry is not None, "only what is there is changed"
            pod = entry.object
            _check_preconditions(pod["metadata"], options)
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
            set_condition(pod["status"], condition, rfc3339(store.clock.now()))
            return Write(store.objects.encode(pod))

        entry, _ = await store.objects.update(store.key(self.target.namespace, self.target.name), change)
        return entry


def _check_preconditions(metadata: Object, options: DeleteOptions) -> None:
    kind = GroupResource("", "Pod")
    if options.uid and options.uid != metadata.get("uid"):
        raise errors.Conflict(
            kind,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata.get('uid')}). "
            "The object might have been deleted and then recreated",
        )
    version = metadata["resourceVersion"]
    if options.resource_version and options.resource_version != version:
        raise errors.Conflict(
            kind,
            metadata["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified",
        )


async def _evict_within_budget(attempt: _Attempt, pod: Object) -> None:
    budgets = await budgets_of(attempt.store, pod)
    if len(budgets) > 1:
        raise errors.APIError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    if not budgets:
        await attempt.delete()
        return
    budget = budgets[0]
    status = budget.get("status") or {}
    if not is_ready(pod):
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        always = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or (healthy >= desired > 0):
            await _evict_unhealthy(attempt, pod, budget["metadata"]["name"])
            return
    await _spend(attempt, budget["metadata"]["name"], pod)
    await attempt.delete()


async def _evict_unhealthy(attempt: _Attempt, pod: Object, budget: str) -> None:
    """It costs the budget nothing, as long as it has not become healthy meanwhile."""
    try:
        await attempt.delete(_version(pod))
    except errors.Conflict:
        if attempt.deletion.resource_version is not None:
            raise
        raise _still_processed(budget) from None


async def budgets_of(store: Store, pod: Object) -> list[Object]:
    """The disruption budgets that select a pod."""
    budgets = store.peers.get(_BUDGETS)
    if budgets is None:
        return []
    listing = await budgets.list(Query(scope=budgets.scope(pod["metadata"]["namespace"])))
    labels = pod["metadata"].get("labels") or {}
    found = [entry.object for entry in listing.entries]
    return [b for b in found if _selects((b.get("spec") or {}).get("selector"), labels)]


def _selects(selector: Object | None, labels: dict[str, str]) -> bool:
    """No selector selects nothing, an empty one everything."""
    return selector is not None and selector_from_object(selector).matches(labels)


async def _spend(attempt: _Attempt, name: str, pod: Object) -> None:
    """Take one disruption from the budget, or be refused."""
    store = attempt.store.peers[_BUDGETS]
    now = rfc3339(store.clock.now())

    async def change(entry: Entry | None) -> Decision:
        assert entry is not None, "only what is there is changed"
        live, budget = entry.object, entry.object
        check_budget(budget)
        status = budget.setdefault("status", {})
        status["disruptionsAllowed"] -= 1
        if not status["disruptionsAllowed"]:
            _mark_spent(budget, now)
        status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = now
        track_update(
            live,
            budget,
            store.resource.schema,
            manager="kube-apiserver",
            api_version="policy/v1",
            now=now,
            subresource="status",
        )
        return Write(store.objects.encode(budget))

    key = store.key(pod["metadata"]["namespace"], name)
    if attempt.deletion.dry_run:
        check_budget((await store.get(pod["metadata"]["namespace"], name)).object)
    else:
        await store.objects.update(key, change)


def _mark_spent(budget: Object, now: str) -> None:
    conditions = budget["status"].setdefault("conditions", [])
    spent = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["status"].get("observedGeneration", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    for i, known in enumerate(conditions):
        if known.get("type") == "DisruptionAllowed":
            if known.get("status") == "False":
                spent["lastTransitionTime"] = known.get("lastTransitionTime")
            conditions[i] = spent
            return
    conditions.append(spent)


def check_budget(budget: Object) -> None:
    """Raise what a budget has against one more disruption."""
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _still_processed(name)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, why, "too many pending evictions not confirmed by PDB controller")
    if not allowed:
        raise _refused(_refusal(name, status), 0)


def _refusal(name: str, status: Object) -> str:
    conditions = status.get("conditions") or ()
    condition: Object = next((c for c in conditions if c.get("type") == "DisruptionAllowed"), {})
    told = condition.get("message") if condition.get("status") == "False" else ""
    if told and condition.get("reason") == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {told}"
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    text = f"The disruption budget {name} does not allow evicting pods currently"
    return f"{text} ({condition.get('reason', '')}): {told}" if told else text


def _still_processed(name: str) -> errors.TooManyRequests:
    return _refused(f"The disruption budget {name} is still being processed by the server.", 10)


def _refused(why: str, retry_after: int) -> errors.TooManyRequests:
    error = errors.TooManyRequests(_REFUSED, retry_after)
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": why}], **(error.details or {})}
    return error


def _forbidden(name: str, why: str, cause: str) -> errors.Forbidden:
    error = errors.Forbidden(_BUDGET, name, why)
    text = f"The disruption budget {name} does not allow evicting pods currently: {cause}"
    error.details = {**(error.details or {}), "causes": [{"reason": "DisruptionBudget", "message": text}]}
    return error


ACTION = Action(gvk=EVICTION, run=evict, or_versions=(GroupVersion("policy", "v1beta1"),))
