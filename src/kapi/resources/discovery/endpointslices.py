"""EndpointSlices: the addresses behind a service, in slices of a bearable size."""

from __future__ import annotations

from kapi.api.addresses import (
    IPV4,
    IPV6,
    ip_warnings,
    is_ipv6,
    validate_canonical_ip,
    validate_endpoint_ip,
    validate_ip,
)
from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required, too_many
from kapi.api.names import dns_label, dns_subdomain, label_key, label_value, validate_labels
from kapi.api.objects import Object
from kapi.api.ports import PROTOCOLS
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, start_generation
from kapi.registry.table import AGE, NAME, Column, field_value

_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_HOSTNAME = "kubernetes.io/hostname"
_TYPES = ("FQDN", IPV4, IPV6)
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS, _MOST_LABELS = 1000, 100, 20000, 8, 16
_SHOWN = 3


def default(new: Object) -> None:
    for port in new.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)
    _drop_topology(new, None)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    changed = any((new.get(field) or []) != (old.get(field) or []) for field in ("addressType", "endpoints", "ports"))
    if changed or (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if (new.get("endpoints") or []) != (old.get("endpoints") or []):
        _drop_topology(new, old)


def _drop_topology(new: Object, old: Object | None) -> None:
    """The topology of v1beta1 is not written any more; a node that it named stays known."""
    known = {e.get("deprecatedTopology", {}).get(_HOSTNAME) for e in (old or {}).get("endpoints") or ()}
    for endpoint in new.get("endpoints") or ():
        node = endpoint.pop("deprecatedTopology", {}).get(_HOSTNAME)
        if node and node in known and endpoint.get("nodeName") is None and not dns_subdomain(node):
            endpoint["nodeName"] = node


def validate(_: Call, new: Object) -> list[FieldError]:
    found = _validate_ports(new.get("ports") or []) + _validate_endpoints(new)
    # As upstream's declared rules, which come last.
    return found + _validate_type(new.get("addressType") or "") + _validate_counts(new)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    kind, changed = new.get("addressType") or "", (new.get("endpoints") or []) != (old.get("endpoints") or [])
    errors = _validate_type(kind) if kind else []
    errors += _validate_ports(new.get("ports") or [])
    errors += _validate_endpoints(new) if changed else []
    if kind != old.get("addressType"):
        errors += [] if kind else [required("addressType")]
        errors.append(invalid("addressType", None, "field is immutable"))
    return errors + (_validate_counts(new) if changed else [])


def _validate_type(kind: str) -> list[FieldError]:
    if not kind:
        return [required("addressType")]
    return [] if kind in _TYPES else [not_supported("addressType", kind, _TYPES)]


def _validate_ports(ports: list[Object]) -> list[FieldError]:
    if len(ports) > _MOST_PORTS:
        return [too_many("ports", len(ports), _MOST_PORTS)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        path, name = f"ports[{i}]", port.get("name") or ""
        if name:
            errors += [invalid(f"{path}.name", name, e) for e in dns_label(name)]
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        if port.get("protocol") not in PROTOCOLS:
            errors.append(not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS))
        protocol = port.get("appProtocol")
        if protocol is not None:
            errors += [invalid(f"{path}.appProtocol", protocol, e) for e in label_key(protocol)]
    return errors


def _validate_endpoints(new: Object) -> list[FieldError]:
    endpoints = new.get("endpoints") or []
    if len(endpoints) > _MOST_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)]
    errors: list[FieldError] = []
    for i, endpoint in enumerate(endpoints):
        path = f"endpoints[{i}]"
        errors += _validate_addresses(f"{path}.addresses", endpoint.get("addresses") or [], new.get("addressType"))
        node, hostname = endpoint.get("nodeName"), endpoint.get("hostname")
        if node is not None:
            errors += [invalid(f"{path}.nodeName", node, e) for e in dns_subdomain(node)]
        topology = endpoint.get("deprecatedTopology") or {}
        if len(topology) > _MOST_LABELS:
            errors.append(too_many(f"{path}.deprecatedTopology", len(topology), _MOST_LABELS))
        errors += validate_labels(topology, f"{path}.deprecatedTopology")
        if hostname is not None:
            errors += [invalid(f"{path}.hostname", hostname, e) for e in dns_label(hostname)]
        errors += _validate_hints(f"{path}.hints", endpoint.get("hints") or {})
    return errors


def _validate_addresses(path: str, addresses: list[str], kind: str | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, address in enumerate(addresses):
        at = f"{path}[{i}]"
        if kind == "FQDN":
            errors += _validate_domain(at, address)
        elif kind in (IPV4, IPV6):
            found = validate_ip(at, address) if kind == IPV4 else validate_canonical_ip(at, address)
            if not found:
                if is_ipv6(address) != (kind == IPV6):
                    found.append(invalid(path, address, f"must be an {kind} address"))
                found += validate_endpoint_ip(at, address)
            errors += found
    return errors


def _validate_counts(new: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, endpoint in enumerate(new.get("endpoints") or []):
        path, count = f"endpoints[{i}].addresses", len(endpoint.get("addresses") or ())
        if not count:
            errors.append(required(path))
        elif count > _MOST_ADDRESSES:
            errors.append(too_many(path, count, _MOST_ADDRESSES))
    return errors


def _validate_domain(path: str, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if problems := dns_subdomain(name):
        return [invalid(path, name, ",".join(problems))]
    if "." not in name:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in name.split("."):
        if problems := dns_label(label):
            return [invalid(path, label, ",".join(problems))]
    return []


def _validate_hints(path: str, hints: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, check in (("forZones", label_value), ("forNodes", dns_subdomain)):
        at, given = f"{path}.{field}", hints.get(field) or []
        if len(given) > _MOST_HINTS:
            return [*errors, too_many(at, len(given), _MOST_HINTS)]
        names: set[str] = set()
        for i, hint in enumerate(given):
            name = hint.get("name", "")
            if name in names:
                errors.append(duplicate(f"{at}[{i}].name", name))
            names.add(name)
            errors += [invalid(f"{at}[{i}].name", name, e) for e in check(name)]
    return errors


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    told: list[str] = []
    if old is None and new.get("addressType") == "FQDN":
        told.append("spec.addressType: FQDN endpoints are deprecated")
    if (new["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return told
    for i, endpoint in enumerate(new.get("endpoints") or ()):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            told += ip_warnings(f"endpoints[{i}].addresses[{j}]", address)
    return told


def ports(decoded: Object) -> str:
    return _few([_port_text(port) for port in decoded.get("ports") or ()])


def _port_text(port: Object) -> str:
    return str(port["port"]) if port.get("port") is not None else port.get("name", "*")


def addresses(decoded: Object) -> str:
    return _few([a for endpoint in decoded.get("endpoints") or () for a in endpoint.get("addresses") or ()])


def _few(texts: list[str]) -> str:
    shown = ",".join(texts[:_SHOWN])
    if len(texts) > _SHOWN:
        return f"{shown} + {len(texts) - _SHOWN} more..."
    return shown or "<unset>"


RESOURCE = Resource(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
    ),
    columns=(
        NAME,
        Column("AddressType", field_value("addressType")),
        Column("Ports", ports),
        Column("Endpoints", addresses),
        AGE,
    ),
)
