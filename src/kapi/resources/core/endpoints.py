"""Endpoints: the addresses behind a service. Superseded by EndpointSlices, and said so on every request."""

from __future__ import annotations

from kapi.api.addresses import ip_warnings, is_ipv6, validate_endpoint_ip, validate_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain, label_key
from kapi.api.objects import Object
from kapi.api.ports import PROTOCOLS, port_number
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column

_CONTROLLER_LABEL, _CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"
_SHOWN = 3
_ADDRESSES = ("addresses", "notReadyAddresses")


def default(new: Object) -> None:
    for subset in new.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def validate(_: Call, new: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, subset in enumerate(new.get("subsets") or ()):
        path = f"subsets[{i}]"
        if not any(subset.get(field) for field in _ADDRESSES):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in _ADDRESSES:
            for j, address in enumerate(subset.get(field) or ()):
                errors += _validate_address(f"{path}.{field}[{j}]", address)
        ports = subset.get("ports") or []
        for j, port in enumerate(ports):
            errors += _validate_port(f"{path}.ports[{j}]", port, named=len(ports) > 1)
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """What has not changed was allowed once, and still is."""
    errors = validate(call, new)
    return [] if errors and (new.get("subsets") or []) == (old.get("subsets") or []) else errors


def _validate_address(path: str, address: Object) -> list[FieldError]:
    ip = address.get("ip") or ""
    errors = validate_ip(f"{path}.ip", ip)
    if address.get("hostname"):
        errors += [invalid(f"{path}.hostname", address["hostname"], e) for e in dns_label(address["hostname"])]
    node = address.get("nodeName")
    if node is not None:
        errors += [invalid(f"{path}.nodeName", node, e) for e in dns_subdomain(node)]
    return errors + validate_endpoint_ip(f"{path}.ip", ip)


def _validate_port(path: str, port: Object, *, named: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if port.get("name"):
        errors += [invalid(f"{path}.name", port["name"], e) for e in dns_label(port["name"])]
    elif named:
        errors.append(required(f"{path}.name"))
    number = port.get("port", 0)
    errors += [invalid(f"{path}.port", number, e) for e in port_number(number)]
    if port.get("protocol") not in PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS))
    protocol = port.get("appProtocol")
    if protocol is not None:
        errors += [invalid(f"{path}.appProtocol", protocol, e) for e in label_key(protocol)]
    return errors


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    if (new["metadata"].get("labels") or {}).get(_CONTROLLER_LABEL) == _CONTROLLER:
        return []
    told: list[str] = []
    for i, subset in enumerate(new.get("subsets") or ()):
        for field in _ADDRESSES:
            for j, address in enumerate(subset.get(field) or ()):
                told += ip_warnings(f"subsets[{i}].{field}[{j}].ip", address.get("ip") or "")
    return told


def shown(decoded: Object) -> str:
    """The first few addresses with their ports."""
    subsets = decoded.get("subsets") or []
    if not subsets:
        return "<none>"
    pairs: list[str] = []
    for subset in subsets:
        addresses = [a.get("ip", "") for a in subset.get("addresses") or ()]
        ports = subset.get("ports") or []
        pairs += addresses if not ports else [_pair(ip, port["port"]) for port in ports for ip in addresses]
    text = ",".join(pairs[:_SHOWN])
    return f"{text} + {len(pairs) - _SHOWN} more..." if len(pairs) > _SHOWN else text


def _pair(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if is_ipv6(ip) else f"{ip}:{port}"


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Endpoints",
    prefix="services/endpoints",
    deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    strategy=Strategy(
        default=default, validate=validate, validate_update=validate_update, warnings=warnings, create_on_update=True
    ),
    columns=(NAME, Column("Endpoints", shown), AGE),
)
