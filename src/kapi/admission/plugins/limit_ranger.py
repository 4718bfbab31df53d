"""LimitRanger: what a namespace's pods and claims ask for is within its limits; what they leave open is filled in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import all_of, forbidden
from kapi.admission.resources import LIMIT_RANGES, PERSISTENT_VOLUME_CLAIMS, PODS
from kapi.admission.services import PodResources, Services
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes
from kapi.storage.cacher.entry import Entry

ANNOTATION = "kubernetes.io/limit-ranger"
_MAX_MILLI = ((1 << 63) - 1) // 1000

Amounts: TypeAlias = Mapping[str, Quantity]
Act: TypeAlias = Callable[[Attributes, Object], None]
Rule: TypeAlias = Callable[[str, str, Quantity, Amounts, Amounts], str | None]


class LimitRanger:
    name = "LimitRanger"

    def __init__(self, lookup: Lookup, pod_resources: PodResources) -> None:
        self._lookup = lookup
        self._pod_resources = pod_resources

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, "CREATE", of=(PODS,)),
            mutating(self.mutate, "UPDATE", of=(PODS,), at=("resize",)),
            validating(self.validate, "CREATE", of=(PODS, PERSISTENT_VOLUME_CLAIMS)),
            validating(self.validate, "UPDATE", of=(PERSISTENT_VOLUME_CLAIMS,)),
            validating(self.validate, "UPDATE", of=(PODS,), at=("resize",)),
        )

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._run(attributes, _fill_in)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._run(attributes, self._check)

    def _run(self, attributes: Attributes, act: Act) -> Awaitable[None] | None:
        entries = self._lookup.listed(LIMIT_RANGES, attributes.namespace)
        if entries is None:
            return self._run_later(attributes, act)
        if entries:
            _act(attributes, entries, act)
        return None

    async def _run_later(self, attributes: Attributes, act: Act) -> None:
        _act(attributes, await self._lookup.list(LIMIT_RANGES, attributes.namespace), act)

    def _check(self, attributes: Attributes, limit_range: Object) -> None:
        spec = (attributes.object or {})["spec"]
        limits = limit_range.get("spec", {}).get("limits") or ()
        if attributes.resource.resource == "pods":
            problems = [p for limit in limits for p in self._pod_problems(spec, limit)]
        else:
            problems = [p for limit in limits for p in _claim_problems(spec, limit)]
        if problems:
            raise forbidden(attributes, all_of(problems))

    def _pod_problems(self, spec: Object, limit: Object) -> Iterator[str]:
        if limit.get("type") == "Container":
            for kind in ("containers", "initContainers"):
                for container in spec.get(kind) or ():
                    resources = container.get("resources") or {}
                    yield from _problems(limit, _amounts(resources, "requests"), _amounts(resources, "limits"))
        elif limit.get("type") == "Pod":
            yield from _problems(limit, self._of_pod(spec, "requests"), self._of_pod(spec, "limits"))

    def _of_pod(self, spec: Object, kind: str) -> Amounts:
        """What the containers come to, or what the pod as a whole says instead."""
        total = dict(self._pod_resources.of_containers(spec, kind))
        whole = _amounts(spec.get("resources") or {}, kind)
        total.update((name, amount) for name, amount in whole.items() if name in ("cpu", "memory"))
        return total


def _act(attributes: Attributes, limit_ranges: Iterable[Entry], act: Act) -> None:
    """On each limit range, unless the object is about to go."""
    old = attributes.old_object
    if old is None or not old["metadata"].get("deletionTimestamp"):
        for entry in limit_ranges:
            act(attributes, decoded(entry))


def _fill_in(attributes: Attributes, limit_range: Object) -> None:
    """The defaults for containers, and a note of what was set."""
    pod = attributes.object or {}
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for limit in limit_range.get("spec", {}).get("limits") or ():
        if limit.get("type") == "Container":
            requests.update(limit.get("defaultRequest") or {})
            limits.update(limit.get("default") or {})
    notes: list[str] = []
    for kind, shown in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(kind) or ():
            set_limits = _merge(container, "limits", limits)
            for field, names in (("request", _merge(container, "requests", requests)), ("limit", set_limits)):
                if names:
                    notes.append(f"{', '.join(sorted(names))} {field} for {shown} {container.get('name', '')}")
    if notes:
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}


def _merge(container: Object, kind: str, defaults: Mapping[str, str]) -> list[str]:
    """The names of what the container did not say itself."""
    resources = container.get("resources") or {}
    own = resources.get(kind) or {}
    missing = [name for name in defaults if name not in own]
    if missing:
        container["resources"] = {**resources, kind: {**own, **{name: defaults[name] for name in missing}}}
    return missing


def _claim_problems(spec: Object, limit: Object) -> Iterator[str]:
    """Of claims only what they request counts."""
    if limit.get("type") != "PersistentVolumeClaim":
        return
    requests = _amounts(spec.get("resources") or {}, "requests")
    for name, enforced in _amounts(limit, "min").items():
        if (problem := _below(limit["type"], name, enforced, requests, {})) is not None:
            yield problem
    for name, enforced in _amounts(limit, "max").items():
        what = f"maximum {name} usage per {limit['type']} is {enforced}"
        if name not in requests:
            yield f"{what}.  No request is specified"
        elif requests[name] > enforced:
            yield f"{what}, but request is {requests[name]}"


def _problems(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for field, rule in _RULES:
        for name, enforced in _amounts(limit, field).items():
            if (problem := rule(limit["type"], name, enforced, requests, limits)) is not None:
                yield problem


def _amounts(holder: Object, field: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in (holder.get(field) or {}).items()}


def _below(type: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    what = f"minimum {name} usage per {type} is {enforced}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        return f"{what}.  No request is specified"
    if request < enforced:
        return f"{what}, but request is {request}"
    return f"{what}, but limit is {limit}" if limit is not None and limit < enforced else None


def _above(type: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    what = f"maximum {name} usage per {type} is {enforced}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        return f"{what}.  No limit is specified"
    if limit > enforced:
        return f"{what}, but limit is {limit}"
    return f"{what}, but request is {request}" if request is not None and request > enforced else None


def _ratio(type: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    what = f"{name} max limit to request ratio per {type} is {enforced}"
    request, limit = requests.get(name), limits.get(name)
    if request is None or not request:
        return f"{what}, but no request is specified or request is 0"
    if limit is None or not limit:
        return f"{what}, but no limit is specified or limit is 0"
    is_fine = max(request.value, limit.value, enforced.value) <= _MAX_MILLI
    ratio = limit.milli_value / request.milli_value if is_fine else limit.value / request.value
    return f"{what}, but provided ratio is {ratio:.6f}" if ratio * 1000 > enforced.milli_value else None


_RULES: tuple[tuple[str, Rule], ...] = (("min", _below), ("max", _above), ("maxLimitRequestRatio", _ratio))


def build(services: Services, _: Object | None) -> LimitRanger:
    return LimitRanger(services.lookup, services.pod_resources)
