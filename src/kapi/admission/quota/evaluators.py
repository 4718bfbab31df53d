"""Evaluators: how each resource counts against quotas. What has no evaluator of its own is counted by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Protocol

from kapi.admission.plugins.persistent_volume_claim_resize import class_of
from kapi.admission.quota.amounts import ONE, ZERO, Amounts
from kapi.admission.quota.scopes import requirement_met
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes

_LARGEST_ALLOCATION = 32
# Names from before there was count/<resource>.
_OLD_NAMES = frozenset(("configmaps", "resourcequotas", "replicationcontrollers", "secrets"))


class Evaluator(Protocol):
    """`scoped` evaluators know scopes; to the others no scope applies."""

    scoped: bool

    def handles(self, attributes: Attributes) -> bool:
        """Whether a write may change what is used."""

    def names(self, listed: Iterable[str]) -> list[str]:
        """Those resource names of a quota that this counts."""

    def in_scope(self, selector: Object, found: Object) -> bool: ...

    def missing(self, required: Iterable[str], found: Object) -> str | None:
        """What the object must say because a quota counts it."""

    def usage(self, found: Object) -> Amounts: ...


class Counted:
    """Any resource, by number."""

    scoped = False

    def __init__(self, resource: GroupResource) -> None:
        self._names = {f"count/{resource}"}
        if not resource.group and resource.resource in _OLD_NAMES:
            self._names.add(resource.resource)

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation == "CREATE" and not attributes.subresource

    def names(self, listed: Iterable[str]) -> list[str]:
        return sorted(name for name in listed if name in self._names)

    def in_scope(self, selector: Object, found: Object) -> bool:
        return False

    def missing(self, required: Iterable[str], found: Object) -> str | None:
        return None

    def usage(self, found: Object) -> Amounts:
        return dict.fromkeys(self._names, ONE)


class Services(Counted):
    """Also by the ports of nodes and the load balancers that they take."""

    def __init__(self) -> None:
        super().__init__(GroupResource("", "services"))
        self._names |= {"services", "services.nodeports", "services.loadbalancers"}

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource

    def usage(self, found: Object) -> Amounts:
        spec = found.get("spec") or {}
        ports = spec.get("ports") or ()
        balanced = spec.get("type") == "LoadBalancer"
        taken = len(ports) if balanced or spec.get("type") == "NodePort" else 0
        if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
            taken = sum(1 for port in ports if port.get("nodePort"))
        return {
            "count/services": ONE,
            "services": ONE,
            "services.nodeports": Quantity(taken),
            "services.loadbalancers": ONE if balanced else ZERO,
        }


class Claims(Counted):
    """Claims of volumes: by number and size, of all classes and of each."""

    scoped = True
    _OF_CLASS = ".storageclass.storage.k8s.io/"

    def __init__(self) -> None:
        super().__init__(GroupResource("", "persistentvolumeclaims"))
        self._names |= {"persistentvolumeclaims", "requests.storage"}
        self._suffixes = tuple(self._OF_CLASS + name for name in ("persistentvolumeclaims", "requests.storage"))

    def handles(self, attributes: Attributes) -> bool:
        if attributes.subresource == "status":
            old, new = attributes.old_object or {}, attributes.object or {}
            return _allocated(old) != _allocated(new) or _attribute_classes(old) != _attribute_classes(new)
        return attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource

    def names(self, listed: Iterable[str]) -> list[str]:
        return sorted(name for name in listed if name in self._names or name.endswith(self._suffixes))

    def in_scope(self, selector: Object, found: Object) -> bool:
        if selector["scopeName"] != "VolumeAttributesClass":
            return False
        classes = _attribute_classes(found)
        if selector.get("operator") == "Exists":
            return bool(classes)
        return any(requirement_met(selector, name) for name in classes or (None,))

    def usage(self, found: Object) -> Amounts:
        used = {"count/persistentvolumeclaims": ONE, "persistentvolumeclaims": ONE}
        requests = ((found.get("spec") or {}).get("resources") or {}).get("requests") or {}
        if "storage" in requests:
            size = Quantity.parse(requests["storage"])
            allocated = _allocated(found)
            used["requests.storage"] = max(size, allocated).round_up(0)
        name = class_of(found)
        if name:
            for counted in ("persistentvolumeclaims", "requests.storage"):
                if counted in used:
                    used[f"{name}{self._OF_CLASS}{counted}"] = used[counted]
        return used


def _allocated(claim: Object) -> Quantity:
    allocated = (claim.get("status") or {}).get("allocatedResources") or {}
    return Quantity.parse(allocated.get("storage") or "0")


def _attribute_classes(claim: Object) -> set[str]:
    status = claim.get("status") or {}
    names = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}


class DeviceClaims(Counted):
    """Claims of devices: by number, and by the devices of each class at most."""

    _OF_CLASS = ".deviceclass.resource.k8s.io/devices"
    _IMPLICIT = "requests.deviceclass.resource.kubernetes.io/"

    def __init__(self) -> None:
        super().__init__(GroupResource("resource.k8s.io", "resourceclaims"))

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource

    def names(self, listed: Iterable[str]) -> list[str]:
        return sorted(n for n in listed if n in self._names or n.endswith(self._OF_CLASS))

    def usage(self, found: Object) -> Amounts:
        used = dict(super().usage(found))
        for request in ((found.get("spec") or {}).get("devices") or {}).get("requests") or ():
            exactly = request.get("exactly")
            wanted: dict[str, int] = {}
            for choice in request.get("firstAvailable") or ([exactly] if exactly else ()):
                name = f"{choice.get('deviceClassName', '')}{self._OF_CLASS}"
                wanted[name] = max(wanted.get(name, 0), _devices(choice))
            for name, count in wanted.items():
                used[name] = used.get(name, ZERO) + Quantity(count)
        for name, amount in list(used.items()):
            if name.endswith(self._OF_CLASS):
                used[self._IMPLICIT + name.removesuffix(self._OF_CLASS)] = amount
        return used


def _devices(request: Object) -> int:
    mode = request.get("allocationMode")
    if mode == "All":
        return _LARGEST_ALLOCATION
    return int(request.get("count") or 0) if mode == "ExactCount" else 0


class Evaluators:
    """The evaluator of each resource."""

    def __init__(self, special: Mapping[tuple[str, str], Evaluator]) -> None:
        self._special = special
        self._counted: Callable[[GroupResource], Counted] = lru_cache(maxsize=4096)(Counted)

    @property
    def special(self) -> Iterable[tuple[str, str]]:
        """The resources that count by more than their number."""
        return self._special.keys()

    def of(self, resource: GroupResource) -> Evaluator:
        return self._special.get(resource) or self._counted(resource)
