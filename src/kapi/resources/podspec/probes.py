"""Probes and lifecycle hooks: what is run in a container, asked of it, and how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.formats import http_header_name, port_number, validate_port
from kapi.api.objects import Object
from kapi.resources.podspec.context import Context

_SCHEMES = ("HTTP", "HTTPS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
Check: TypeAlias = Callable[[Object, Context, str], list[FieldError]]


def validate_probes(container: Object, context: Context, path: str) -> list[FieldError]:
    """Lifecycle, liveness, readiness, startup: those of a container that keeps running."""
    errors: list[FieldError] = []
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        for name in ("postStart", "preStop"):
            hook = lifecycle.get(name)
            if hook is not None:
                errors += _validate_handler(hook, _HOOKS, context, f"{path}.lifecycle.{name}")
    probe = container.get("livenessProbe")
    if probe is not None:
        errors += _validate_probe(probe, context, f"{path}.livenessProbe")
        errors += _succeeds_at_once(probe, f"{path}.livenessProbe")
    probe = container.get("readinessProbe")
    if probe is not None:
        errors += _validate_probe(probe, context, f"{path}.readinessProbe")
        period = probe.get("terminationGracePeriodSeconds")
        if period is not None:
            detail = "must not be set for readinessProbes"
            errors.append(invalid(f"{path}.readinessProbe.terminationGracePeriodSeconds", period, detail))
    probe = container.get("startupProbe")
    if probe is not None:
        errors += _validate_probe(probe, context, f"{path}.startupProbe")
        errors += _succeeds_at_once(probe, f"{path}.startupProbe")
    return errors


def _succeeds_at_once(probe: Object, path: str) -> list[FieldError]:
    threshold = probe.get("successThreshold", 0)
    return [] if threshold == 1 else [invalid(f"{path}.successThreshold", threshold, "must be 1")]


def _validate_probe(probe: Object, context: Context, path: str) -> list[FieldError]:
    errors = _validate_handler(probe, _PROBES, context, path)
    errors += [
        invalid(f"{path}.{field}", probe[field], "must be greater than or equal to 0")
        for field in _COUNTS
        if probe.get(field, 0) < 0
    ]
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", period, "must be greater than 0"))
    return errors


def _validate_handler(handler: Object, checks: dict[str, Check], context: Context, path: str) -> list[FieldError]:
    """Exactly one of the kinds of handlers."""
    errors: list[FieldError] = []
    found = False
    for kind, check in checks.items():
        action = handler.get(kind)
        if action is None:
            continue
        if found:
            errors.append(forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))
        else:
            found = True
            errors += check(action, context, f"{path}.{kind}")
    return errors if found else [required(path, "must specify a handler type")]


def _validate_exec(action: Object, _: Context, path: str) -> list[FieldError]:
    return [] if action.get("command") else [required(f"{path}.command")]


def _validate_http_get(action: Object, _: Context, path: str) -> list[FieldError]:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += validate_port(action.get("port", 0), f"{path}.port")
    scheme = action.get("scheme") or ""
    if scheme not in _SCHEMES:
        errors.append(not_supported(f"{path}.scheme", scheme, _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        errors += [invalid(f"{path}.httpHeaders", name, e) for e in http_header_name(name)]
    return errors


def _validate_tcp_socket(action: Object, _: Context, path: str) -> list[FieldError]:
    return validate_port(action.get("port", 0), f"{path}.port")


def _validate_grpc(action: Object, _: Context, path: str) -> list[FieldError]:
    port = action.get("port", 0)
    return [invalid(f"{path}.port", port, e) for e in port_number(port)]


def _validate_sleep(action: Object, context: Context, path: str) -> list[FieldError]:
    seconds, period = action.get("seconds") or 0, context.grace_period
    if period is None or 0 <= seconds <= period:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({period})"
    return [invalid(path, seconds, detail)]


_PROBES: dict[str, Check] = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_tcp_socket,
    "grpc": _validate_grpc,
}
_HOOKS: dict[str, Check] = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_tcp_socket,
    "sleep": _validate_sleep,
}
