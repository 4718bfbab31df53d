"""What a service's type means for its other fields: which of them it needs, and which an update lets go.

A service is a union told apart by its type. Strategy, validation and allocation ask here.
"""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object

NONE = "None"  # the clusterIP of a headless service
_EXPOSED = ("LoadBalancer", "NodePort")


def spec_of(service: Object) -> Object:
    spec: Object = service.get("spec") or {}
    return spec


def type_of(service: Object) -> str:
    kind: str = spec_of(service).get("type") or ""
    return kind


def is_headless(service: Object) -> bool:
    return cluster_ips(service) == [NONE]


def cluster_ips(service: Object) -> list[str]:
    return list(spec_of(service).get("clusterIPs") or ())


def needs_cluster_ip(service: Object) -> bool:
    return type_of(service) != "ExternalName"


def has_node_ports(service: Object) -> bool:
    return type_of(service) in _EXPOSED


def externally_accessible(service: Object) -> bool:
    spec = spec_of(service)
    kind = spec.get("type")
    return kind in _EXPOSED or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(service: Object) -> bool:
    spec = spec_of(service)
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports(service: Object) -> list[int]:
    """In the order of the ports; one may be there more than once."""
    return [p["nodePort"] for p in spec_of(service).get("ports") or () if p.get("nodePort")]


def drop_dependent_fields(new: Object, old: Object) -> None:
    """An update to a type without a field drops it, unless it changes it too: that is for validation to refuse.

    As upstream's dropTypeDependentFields: only what may have been filled in automatically goes.
    """
    spec, was = spec_of(new), spec_of(old)
    if needs_cluster_ip(old) and not needs_cluster_ip(new):
        if _same(spec, was, "clusterIP") and _same(spec, was, "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if _same(spec, was, field):
                _drop(spec, field)
    if has_node_ports(old) and not has_node_ports(new) and set(node_ports(new)) <= set(node_ports(old)):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(old) and not needs_health_check(new) and _same(spec, was, "healthCheckNodePort"):
        _drop(spec, "healthCheckNodePort")
    if was.get("type") == "LoadBalancer" != spec.get("type"):
        for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if _same(spec, was, field):
                _drop(spec, field)
    if externally_accessible(old) and not externally_accessible(new) and _same(spec, was, "externalTrafficPolicy"):
        _drop(spec, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        new.setdefault("status", {})["loadBalancer"] = {}


def _same(spec: Object, was: Object, field: str) -> bool:
    value: Any = spec.get(field)
    return bool(value == was.get(field))


def _drop(spec: Object, *fields: str) -> None:
    for field in fields:
        spec.pop(field, None)
