"""The addresses that a load balancer reports in the status of a service or an ingress."""

from __future__ import annotations

from kapi.api.addresses import ip_warnings, parse_ip, validate_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object

_PATH = "status.loadBalancer.ingress"
_IP_MODES = ("Proxy", "VIP")


def points(decoded: Object) -> list[Object]:
    """Where the balancer can be reached."""
    balancer = (decoded.get("status") or {}).get("loadBalancer") or {}
    return list(balancer.get("ingress") or ())


def addresses_of(decoded: Object) -> list[str]:
    """As tables show them: every one once, sorted."""
    shown = (point.get("ip") or point.get("hostname") or "" for point in points(decoded))
    return sorted({text for text in shown if text})


def validate_service_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    if new["spec"].get("type") != "LoadBalancer":
        return [forbidden(_PATH, "may only be used when `spec.type` is 'LoadBalancer'")] if points(new) else []
    return _validate_points(new, old, with_mode=True)


def validate_ingress_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_points(new, old, with_mode=False)


def _validate_points(new: Object, old: Object, *, with_mode: bool) -> list[FieldError]:
    known = {point["ip"] for point in points(old) if point.get("ip")}
    errors: list[FieldError] = []
    for i, point in enumerate(points(new)):
        path, ip = f"{_PATH}[{i}]", point.get("ip") or ""
        if ip:
            errors += validate_ip(f"{path}.ip", ip, known)
        if with_mode:
            errors += _validate_mode(f"{path}.ipMode", point.get("ipMode"), ip)
        hostname = point.get("hostname") or ""
        if hostname:
            errors += [invalid(f"{path}.hostname", hostname, e) for e in dns_subdomain(hostname)]
            if parse_ip(hostname) is not None:
                errors.append(invalid(f"{path}.hostname", hostname, "must be a DNS name, not an IP address"))
    return errors


def _validate_mode(path: str, mode: str | None, ip: str) -> list[FieldError]:
    if mode is None:
        return [required(path, "must be specified when `ip` is set")] if ip else []
    if not ip:
        return [forbidden(path, "may not be specified when `ip` is not set")]
    return [] if mode in _IP_MODES else [not_supported(path, mode, _IP_MODES)]


def status_warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    told: list[str] = []
    for i, point in enumerate(points(new)):
        if point.get("ip"):
            told += ip_warnings(f"{_PATH}[{i}]", point["ip"])
    return told
