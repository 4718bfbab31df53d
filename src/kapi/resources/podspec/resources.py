"""Requests and limits: of containers, of whole pods, and what they make of a pod's quality of service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from kapi.api.names import dns_label, label_key
from kapi.api.objects import Object
from kapi.api.quantity import Quantity, QuantityError

HUGE_PAGES = "hugepages-"
_CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD_RESOURCES = (
    _CONTAINER_RESOURCES
    | _COUNTED
    | {
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "storage",
        "requests.storage",
    }
)
_POD_RESOURCES = ("cpu", "memory", HUGE_PAGES)
_NEGATIVE = "must be greater than or equal to 0"
Names = Callable[[str, str], list[FieldError]]


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """A resource that nodes advertise under a name of its own, in whole units."""
    return not is_native(name) and not name.startswith("requests.") and not label_key(f"requests.{name}")


def is_overcommittable(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def is_pod_level(name: str) -> bool:
    return name == "cpu" or name == "memory" or name.startswith(HUGE_PAGES)


def _validate_name(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, e) for e in label_key(name)]
    is_standard = name in _STANDARD_RESOURCES or name.startswith((HUGE_PAGES, "requests.hugepages-"))
    if not errors and not is_standard and "/" not in name:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_container_resource_name(name: str, path: str) -> list[FieldError]:
    if name in _CONTAINER_RESOURCES:
        return []
    errors = _validate_name(name, path)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _validate_pod_resource_name(name: str, path: str) -> list[FieldError]:
    errors = _validate_name(name, path)
    if not errors and not is_pod_level(name):
        errors.append(not_supported(path, name, _POD_RESOURCES))
    return errors


def validate_quantity(name: str, quantity: Quantity, path: str) -> list[FieldError]:
    """An amount of a resource: not negative, and whole where the resource is counted."""
    errors: list[FieldError] = []
    if quantity.unscaled < 0:
        errors.append(invalid(path, str(quantity), _NEGATIVE))
    if name not in _CONTAINER_RESOURCES and (name in _COUNTED or is_extended(name)) and quantity.milli_value % 1000:
        errors.append(invalid(path, str(quantity), "must be an integer"))
    return errors


def validate_requirements(
    requirements: Object, claims: frozenset[str], path: str, names: Names = validate_container_resource_name
) -> list[FieldError]:
    errors: list[FieldError] = []
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    parsed_limits = {name: Quantity.parse(text) for name, text in limits.items()}
    for name, limit in parsed_limits.items():
        errors += _validate_amount(name, limit, f"{path}.limits[{name}]", names)
    for name, text in requests.items():
        request = Quantity.parse(text)
        at = f"{path}.requests[{name}]"
        errors += names(name, at)
        errors += validate_quantity(name, request, at)
        errors += _validate_against_limit(name, request, parsed_limits.get(name), path)
        if name.startswith(HUGE_PAGES):
            errors += _validate_pages(name, request, at)
    named = {*limits, *requests}
    if not ("cpu" in named or "memory" in named) and any(name.startswith(HUGE_PAGES) for name in named):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if requirements.get("claims"):
        errors += _validate_claims(requirements["claims"], claims, f"{path}.claims")
    return errors


def _validate_amount(name: str, quantity: Quantity, path: str, names: Names) -> list[FieldError]:
    errors = names(name, path) + validate_quantity(name, quantity, path)
    return errors + _validate_pages(name, quantity, path) if name.startswith(HUGE_PAGES) else errors


def _validate_against_limit(name: str, request: Quantity, limit: Quantity | None, path: str) -> list[FieldError]:
    if limit is None:
        if is_overcommittable(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    difference = request.compare(limit)
    if difference and not is_overcommittable(name):
        return [invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")]
    if difference > 0:
        return [invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")]
    return []


def _validate_pages(name: str, quantity: Quantity, path: str) -> list[FieldError]:
    try:
        size = Quantity.parse(name[len(HUGE_PAGES) :])
    except QuantityError:
        size = Quantity(0)
    if size.sign > 0 and not size.milli_value % 1000 and not quantity.value % size.value:
        return []
    return [invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {name}")]


def _validate_claims(used: list[Object], claims: frozenset[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(used):
        name, request, at = claim.get("name") or "", claim.get("request") or "", f"{path}[{i}]"
        if not name:
            errors.append(required(at))
            continue
        if name in seen:
            errors.append(duplicate(at, name))
        else:
            key = f"{name}/{request}" if request else name
            if request:
                errors += [invalid(f"{at}.request", request, e) for e in dns_label(request)]
            if key in seen:
                errors.append(duplicate(at, key))
            elif not request:
                errors += [duplicate(at, name) for other in seen if other.startswith(f"{name}/")]
            seen.add(key)
        if name not in claims:
            found = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{found}"
            errors.append(FieldError("FieldValueNotFound", at, detail, name))
    return errors


def validate_pod_resources(spec: Object, claims: frozenset[str], path: str) -> list[FieldError]:
    """Resources of the pod as a whole, which its containers share."""
    requirements = spec.get("resources")
    if requirements is None:
        return []
    at = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if requirements.get("claims") is not None:
        errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    errors += validate_requirements(requirements, claims, at, _validate_pod_resource_name)
    return errors + _validate_shares(spec, requirements, at)


def _validate_shares(spec: Object, requirements: Object, path: str) -> list[FieldError]:
    """The containers together may not want more than the pod; nor may one of them be allowed more."""
    errors: list[FieldError] = []
    requests, limits = requirements.get("requests") or {}, requirements.get("limits") or {}
    for name, total in aggregate(spec, "requests").items():
        if name in requests and total > Quantity.parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", requests[name], detail))
    for name, total in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name in limits and total > Quantity.parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(f"{path}.limits[{name}]", limits[name], detail))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, text in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and Quantity.parse(text) > Quantity.parse(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(f"{path}.containers[{i}][{name}].limits", text, detail))
    return errors


def aggregate(spec: Object, kind: str) -> dict[str, Quantity]:
    """What all containers together request (or may use): sidecars count from the moment they start."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    running: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(running, amounts)
            amounts = running
        else:
            amounts = dict(amounts)
            _add(amounts, running)
        _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


def pod_requests(spec: Object) -> dict[str, Quantity]:
    """What a pod takes from its node: its own requests where it names them, else its containers', and its overhead."""
    total = aggregate(spec, "requests")
    whole = (spec.get("resources") or {}).get("requests") or {}
    total.update((name, Quantity.parse(text)) for name, text in whole.items() if is_pod_level(name))
    _add(total, {name: Quantity.parse(text) for name, text in (spec.get("overhead") or {}).items()})
    return total


def _amounts(container: Object, kind: str) -> dict[str, Quantity]:
    listed = (container.get("resources") or {}).get(kind) or {}
    return {name: Quantity.parse(text) for name, text in listed.items()}


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def default_pod_resources(spec: Object) -> None:
    """Pod-level requests and limits that follow from the containers', once all containers are known."""
    requirements: dict[str, Any] | None = spec.get("resources")
    if not requirements or not (requirements.get("requests") or requirements.get("limits")):
        return
    limits, requests = dict(requirements.get("limits") or {}), dict(requirements.get("requests") or {})
    total_limits = aggregate(spec, "limits")
    for name, total in total_limits.items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(total))
    for name, total in aggregate(spec, "requests").items():
        if is_pod_level(name) and is_overcommittable(name):
            requests.setdefault(name, str(total))
    for name, limit in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, limit)
    for name in [n for n in requests if is_pod_level(n) and n not in limits]:
        if name in total_limits and _limited_everywhere(spec, name):
            limits[name] = str(max(total_limits[name], Quantity.parse(requests[name])))
    for field, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            requirements[field] = amounts


def _limited_everywhere(spec: Object, name: str) -> bool:
    containers = [c for kind in ("initContainers", "containers", "ephemeralContainers") for c in spec.get(kind) or ()]
    return all(name in ((c.get("resources") or {}).get("limits") or {}) for c in containers)


def quality_of_service(spec: Object) -> str:
    """Guaranteed when every container's cpu and memory are requested as limited; BestEffort when none is named."""
    whole = spec.get("resources")
    if whole and any(is_pod_level(n) for kind in ("requests", "limits") for n in whole.get(kind) or ()):
        return _quality(whole)
    found = ""
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            quality = _quality(container.get("resources") or {})
            if quality == "Burstable" or (found and found != quality):
                return "Burstable"
            found = quality
    return found or "BestEffort"


def _quality(requirements: Object) -> str:
    requests, limits = requirements.get("requests"), requirements.get("limits")
    if not requests and not limits:
        return "BestEffort"
    found = ""
    for name in ("cpu", "memory"):
        request, limit = (requests or {}).get(name), (limits or {}).get(name)
        if request == limit:
            quality = "BestEffort" if request is None or not Quantity.parse(request).unscaled else "Guaranteed"
        else:
            amount = Quantity.parse(request or "0")
            if amount.compare(Quantity.parse(limit or "0")):
                return "Burstable"
            quality = "Guaranteed" if amount.unscaled else "BestEffort"
        if found and found != quality:
            return "Burstable"
        found = quality
    return found
