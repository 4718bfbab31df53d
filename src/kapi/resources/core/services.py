"""Services: a stable address and name for what runs in pods.

Addresses and node ports are allocated around the write, by the hooks that the Kube server gives this resource.
"""

from __future__ import annotations

from kapi.api.addresses import cidr_warnings, ip_warnings
from kapi.api.call import Call
from kapi.api.names import dns_label
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, copy_field, keep_spec
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.load_balancers import addresses_of, status_warnings, validate_service_status
from kapi.resources.core.proxies import SERVICE_PROXY
from kapi.resources.core.service_rules import (
    NONE,
    cluster_ips,
    drop_dependent_fields,
    externally_accessible,
    is_headless,
)
from kapi.resources.core.service_validation import validate, validate_update

_AFFINITY_SECONDS = 10800
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        given = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if given.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if externally_accessible(new) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in ("ClusterIP", "LoadBalancer", "NodePort"):
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in new.get("status", {}).get("loadBalancer", {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"loadBalancer": {}}


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "status")
    drop_dependent_fields(new, old)


def canonicalize(new: Object) -> None:
    """An ExternalName has no endpoints to choose among. Upstream stores the policy, but never shows it."""
    if new["spec"].get("type") == "ExternalName":
        new["spec"].pop("internalTrafficPolicy", None)


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    spec = new["spec"]
    told: list[str] = []
    if _HINTS in (new["metadata"].get("annotations") or {}):
        told.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    if not is_headless(new) and spec.get("type") != "ExternalName":
        for i, ip in enumerate(cluster_ips(new)):
            told += ip_warnings(f"spec.clusterIPs[{i}]", ip)
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == NONE
    external = spec.get("externalIPs") or []
    if headless:
        if spec.get("loadBalancerIP"):
            told.append("spec.loadBalancerIP is ignored for headless services")
        if external:
            told.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            told.append("spec.SessionAffinity is ignored for headless services")
    for i, ip in enumerate(external):
        told += ip_warnings(f"spec.externalIPs[{i}]", ip)
    if external and not headless and spec.get("type") != "ExternalName":
        told.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        told += ip_warnings("spec.loadBalancerIP", spec["loadBalancerIP"])
    for i, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        told += cidr_warnings(f"spec.loadBalancerSourceRanges[{i}]", cidr)
    return told + _misplaced(spec)


def _misplaced(spec: Object) -> list[str]:
    told = []
    if spec.get("type") == "ExternalName":
        if spec.get("externalIPs"):
            told.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    elif spec.get("externalName"):
        told.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        told.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return told


def fields_of(decoded: Object) -> dict[str, str]:
    spec = decoded.get("spec") or {}
    return {
        **metadata_fields(decoded),
        "spec.clusterIP": spec.get("clusterIP", ""),
        "spec.type": spec.get("type", ""),
    }


def cluster_ip(decoded: Object) -> str:
    ips = cluster_ips(decoded)
    return ips[0] if ips else "<none>"


def external_ip(decoded: Object) -> str:
    spec = decoded["spec"]
    kind, external = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) or "<none>"
    if kind == "LoadBalancer":
        balancers = addresses_of(decoded)
        return ",".join([*balancers, *external]) or "<pending>"
    return spec.get("externalName", "") if kind == "ExternalName" else "<unknown>"


def ports(decoded: Object) -> str:
    shown = []
    for port in decoded["spec"].get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort", 0) > 0 else ""
        shown.append(f"{port['port']}{node}/{port['protocol']}")
    return ",".join(shown) or "<none>"


def selector(decoded: Object) -> str:
    labels = decoded["spec"].get("selector") or {}
    return ",".join(f"{k}={labels[k]}" for k in sorted(labels)) or "<none>"


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Service",
    prefix="services/specs",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        canonicalize=canonicalize,
        warnings=warnings,
        validate_name=dns_label,
        create_on_update=True,
        reset=excluding("status"),
    ),
    subresources={
        "proxy": Subresource(verbs=(), connect=SERVICE_PROXY),
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_spec,
                validate_update=validate_service_status,
                warnings=status_warnings,
                reset=excluding("spec"),
            )
        ),
    },
    columns=(
        NAME,
        Column("Type", field_value("spec", "type")),
        Column("Cluster-IP", cluster_ip),
        Column("External-IP", external_ip),
        Column("Port(s)", ports),
        AGE,
        Column("Selector", selector, priority=1),
    ),
    fields_of=fields_of,
    field_names=("spec.clusterIP", "spec.type"),
    returns_deleted=True,
)
