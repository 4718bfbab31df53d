"""What a service must satisfy, field by field, in the order that upstream reports it."""

from __future__ import annotations

from kapi.api.addresses import validate_cidr, validate_endpoint_ip, validate_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain, label_key, validate_labels
from kapi.api.objects import Object
from kapi.api.ports import PROTOCOLS, port_number, validate_port
from kapi.resources.core.service_families import validate_families, validate_families_update
from kapi.resources.core.service_rules import cluster_ips, externally_accessible, is_headless, needs_health_check

_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_LONGEST_AFFINITY = 86400
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")


def validate(_: Call, new: Object) -> list[FieldError]:
    return validate_service(new, None)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate_families_update(new, old)
    errors += _validate_class(new, old)
    port, before = new["spec"].get("healthCheckNodePort"), old["spec"].get("healthCheckNodePort")
    if needs_health_check(old) and needs_health_check(new) and port != before:
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors + validate_service(new, old)


def validate_service(new: Object, old: Object | None) -> list[FieldError]:
    spec = new["spec"]
    errors = _validate_topology(new["metadata"].get("annotations") or {})
    if not spec.get("ports") and not is_headless(new) and spec.get("type") != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _validate_type_fields(new)
    errors += _validate_ports(spec.get("ports") or [])
    errors += validate_labels(spec.get("selector") or {}, "spec.selector")
    errors += _validate_affinity(spec)
    errors += validate_families(new, old)
    errors += _validate_external_ips(spec, old)
    if spec.get("type") not in _TYPES:
        errors.append(not_supported("spec.type", spec.get("type"), _TYPES))
    errors += _validate_port_numbers(spec)
    errors += _validate_source_ranges(new, old)
    if spec.get("type") != "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not None:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED))
    errors += _validate_class(new, None)
    errors += _validate_external_traffic(new)
    policy = spec.get("internalTrafficPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.internalTrafficPolicy", policy, _POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS, in_order=True))
    return errors


def _validate_topology(annotations: dict[str, str]) -> list[FieldError]:
    mode, hints = annotations.get(_MODE), annotations.get(_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    text = f"must match annotations[{_HINTS}] when both are specified"
    return [invalid(f"metadata.annotations[{_MODE}]", mode, text)]


def _validate_type_fields(new: Object) -> list[FieldError]:
    spec = new["spec"]
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort") and is_headless(new):
        return [invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    why = "may not be set for ExternalName services"
    errors = [forbidden("spec.clusterIPs", why)] if cluster_ips(new) else []
    errors += [forbidden("spec.ipFamilies", why)] if spec.get("ipFamilies") else []
    errors += [forbidden("spec.ipFamilyPolicy", why)] if spec.get("ipFamilyPolicy") is not None else []
    # A final dot marks the name as complete.
    cname = (spec.get("externalName") or "").removesuffix(".")
    if not cname:
        return [*errors, required("spec.externalName")]
    return errors + [invalid("spec.externalName", cname, e) for e in dns_subdomain(cname)]


def _validate_ports(ports: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        path, name = f"spec.ports[{i}]", port.get("name") or ""
        if name:
            errors += [invalid(f"{path}.name", name, e) for e in dns_label(name)]
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{path}.name"))
        number = port.get("port", 0)
        errors += [invalid(f"{path}.port", number, e) for e in port_number(number)]
        if port.get("protocol") not in PROTOCOLS:
            errors.append(not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS))
        errors += validate_port(f"{path}.targetPort", port.get("targetPort", 0))
        protocol = port.get("appProtocol")
        if protocol is not None:
            errors += [invalid(f"{path}.appProtocol", protocol, e) for e in label_key(protocol)]
    return errors


def _validate_affinity(spec: Object) -> list[FieldError]:
    affinity = spec.get("sessionAffinity")
    if affinity not in ("ClientIP", "None"):
        return [not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))]
    if affinity == "None":
        return []
    seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
    if 0 < seconds <= _LONGEST_AFFINITY:
        return []
    text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
    return [invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)]


def _validate_external_ips(spec: Object, old: Object | None) -> list[FieldError]:
    known = old["spec"].get("externalIPs") or () if old is not None else ()
    errors: list[FieldError] = []
    for i, ip in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{i}]"
        errors += validate_ip(path, ip, known) or validate_endpoint_ip(path, ip)
    return errors


def _validate_port_numbers(spec: Object) -> list[FieldError]:
    """A node port is for exposed types only; neither kind of number is used twice for one protocol."""
    ports = list(enumerate(spec.get("ports") or ()))
    errors: list[FieldError] = []
    if spec.get("type") == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        errors += [forbidden(f"spec.ports[{i}].nodePort", why) for i, port in ports if port.get("nodePort")]
    seen: set[tuple[str, int]] = set()
    for i, port in ports:
        number = port.get("nodePort", 0)
        if number and (port["protocol"], number) in seen:
            errors.append(duplicate(f"spec.ports[{i}].nodePort", number))
        seen.add((port["protocol"], number))
    seen = set()
    for i, port in ports:
        key = (port["protocol"], port.get("port", 0))
        if key in seen:
            errors.append(duplicate(f"spec.ports[{i}]", _shown(*key)))
        seen.add(key)
    return errors


def _shown(protocol: str, port: int) -> Object:
    """A port as upstream prints it: by the names of its own fields."""
    rest: Object = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": port}
    return {**rest, "TargetPort": 0, "NodePort": 0}


def _validate_source_ranges(new: Object, old: Object | None) -> list[FieldError]:
    """The networks that may reach a load balancer: a field, or the annotation it once was."""
    spec = new["spec"]
    balanced = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        known = [r.strip() for r in (old["spec"].get("loadBalancerSourceRanges") or ())] if old is not None else []
        errors = [] if balanced else [forbidden(path, _ONLY_BALANCED)]
        for i, value in enumerate(ranges):
            errors += validate_cidr(f"{path}[{i}]", value.strip(), known)
        return errors
    given = (new["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    if given is None:
        return []
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = [] if balanced else [forbidden(path, _ONLY_BALANCED)]
    before = (old["metadata"].get("annotations") or {}).get(_SOURCE_RANGES) if old is not None else None
    if given != before and given.strip():
        for value in given.strip().split(","):
            errors += validate_cidr(path, value.strip())
    return errors


def _validate_class(new: Object, old: Object | None) -> list[FieldError]:
    spec = new["spec"]
    balanced, name = spec.get("type") == "LoadBalancer", spec.get("loadBalancerClass")
    path = "spec.loadBalancerClass"
    if name is not None and not balanced:
        return [forbidden(path, _ONLY_BALANCED)]
    errors: list[FieldError] = []
    was = old["spec"] if old is not None else {}
    if balanced and was.get("type") == "LoadBalancer" and name != was.get("loadBalancerClass"):
        errors.append(invalid(path, name, "may not change once set"))
    if name is not None:
        errors += [invalid(path, name, e) for e in label_key(name)]
    return errors


def _validate_external_traffic(new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors: list[FieldError] = []
    policy = spec.get("externalTrafficPolicy") or ""
    if not externally_accessible(new):
        if policy:
            text = "may only be set for externally-accessible services"
            errors.append(invalid("spec.externalTrafficPolicy", policy, text))
    elif policy not in _POLICIES:
        errors.append(not_supported("spec.externalTrafficPolicy", policy, _POLICIES))
    port, path = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if not needs_health_check(new):
        if port:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid(path, port, text))
    elif not port:
        errors.append(required(path))
    else:
        errors += [invalid(path, port, e) for e in port_number(port)]
    return errors
