"""How pods count against quotas: by number, and by what they request and are limited to, while they live."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kapi.admission.quota.amounts import ONE, Amounts, parsed, total
from kapi.admission.quota.scopes import requirement_met
from kapi.admission.services import PodResources
from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_NAMES = frozenset(
    ("count/pods", "pods", *_COMPUTE, *(f"requests.{n}" for n in _COMPUTE), *(f"limits.{n}" for n in _COMPUTE))
)
# As upstream, which regrets it: a quota of these makes every container name them.
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_HUGE_PAGES = "hugepages-"
_REQUESTS = "requests."
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


class Pods:
    scoped = True

    def __init__(self, resources: PodResources, clock: Clock) -> None:
        self._resources = resources
        self._clock = clock

    def handles(self, attributes: Attributes) -> bool:
        if attributes.operation == "CREATE":
            return not attributes.subresource
        if attributes.subresource == "resize":
            return True
        return not attributes.subresource and _ends(attributes.object or {}) != _ends(attributes.old_object or {})

    def names(self, listed: Iterable[str]) -> list[str]:
        return sorted(name for name in listed if name in _NAMES or _is_special(name))

    def in_scope(self, selector: Object, found: Object) -> bool:
        scope: str = selector["scopeName"]
        spec: Object = found["spec"]
        match scope:
            case "Terminating" | "NotTerminating":
                return _ends(found) == (scope == "Terminating")
            case "BestEffort" | "NotBestEffort":
                return (self._resources.quality_of_service(spec) == "BestEffort") == (scope == "BestEffort")
            case "PriorityClass":
                return requirement_met(selector, spec.get("priorityClassName") or None)
            case "CrossNamespacePodAffinity":
                return _crosses_namespaces(spec)
        return False

    def missing(self, required: Iterable[str], found: Object) -> str | None:
        spec = found["spec"]
        whole = spec.get("resources") or {}
        if whole.get("requests") or whole.get("limits"):
            return None
        wanted = _REQUIRED.intersection(required)
        lacking: dict[str, set[str]] = {}
        for kind in ("containers", "initContainers"):
            for container in spec.get(kind) or ():
                resources = container.get("resources") or {}
                used = self._compute(parsed(resources.get("requests")), parsed(resources.get("limits")))
                for name in wanted - used.keys():
                    lacking.setdefault(name, set()).add(container.get("name", ""))
        if not lacking:
            return None
        return "must specify " + "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))

    def usage(self, found: Object) -> Amounts:
        used: Amounts = {"count/pods": ONE}
        if not self._lives(found):
            return used
        spec = found["spec"]
        return total(used, self._compute(self._resources.requests(spec), self._limits(spec)))

    def _limits(self, spec: Object) -> Amounts:
        limits = dict(self._resources.of_containers(spec, "limits"))
        whole = parsed((spec.get("resources") or {}).get("limits"))
        limits.update((n, v) for n, v in whole.items() if n in ("cpu", "memory") or n.startswith(_HUGE_PAGES))
        overhead = parsed(spec.get("overhead"))
        return {name: limit + overhead[name] if name in overhead else limit for name, limit in limits.items()}

    def _compute(self, requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
        used = {"pods": ONE}
        for name in _COMPUTE:
            if name in requests:
                used[name] = used[_REQUESTS + name] = requests[name]
            if name in limits:
                used[f"limits.{name}"] = limits[name]
        for name, amount in requests.items():
            if name.startswith(_HUGE_PAGES):
                used[name] = used[_REQUESTS + name] = amount
            elif self._resources.is_extended(name) or name.startswith(_DEVICE_CLASS):
                used[_REQUESTS + name] = amount
        return used

    def _lives(self, pod: Object) -> bool:
        """A pod that is done, or should be gone by now, takes nothing from anybody."""
        if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return False
        metadata = pod["metadata"]
        due, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
        if not due or grace is None:
            return True
        return self._clock.now() <= datetime.fromisoformat(due).timestamp() + float(grace)


def _is_special(name: str) -> bool:
    if name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES)):
        return True
    is_native = "/" not in name or "kubernetes.io/" in name
    return name.startswith(_REQUESTS) and (not is_native or name.startswith(_REQUESTS + _DEVICE_CLASS))


def _ends(pod: Object) -> bool:
    """Whether the pod has a deadline."""
    deadline = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _crosses_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        weighted = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(w.get("podAffinityTerm") or {} for w in weighted)):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
