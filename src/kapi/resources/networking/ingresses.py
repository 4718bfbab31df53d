"""Ingresses: which requests from outside go to which service."""

from __future__ import annotations

from kapi.api.addresses import parse_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain, wildcard_subdomain
from kapi.api.objects import Object
from kapi.api.ports import port_name, port_number
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, copy_field, keep_spec, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.core.load_balancers import addresses_of, status_warnings, validate_ingress_status
from kapi.resources.networking.ingressclasses import validate_reference

_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_SHOWN_HOSTS = 3


def default(new: Object) -> None:
    """An empty list is as good as none, except to validation where it is all there is."""
    spec = new.get("spec") or {}
    if spec.get("rules") == [] and spec.get("defaultBackend") is not None:
        del spec["rules"]


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"loadBalancer": {}}
    start_generation(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "status")
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    errors = _validate_spec(new.get("spec") or {}, secrets=True, wildcards=True)
    given, name = _class_annotation(new), (new.get("spec") or {}).get("ingressClassName")
    if given is not None and name is not None and given != name:
        text = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{_CLASS}", given, text))
    return errors


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    """What an old version let pass in secret names and wildcard rules may stay."""
    was = old.get("spec") or {}
    bad_secret = any(_secret_problems(tls) for tls in was.get("tls") or ())
    bad_wildcard = any("*" in r.get("host", "") and _validate_rule(r, "") for r in was.get("rules") or ())
    return _validate_spec(new.get("spec") or {}, secrets=not bad_secret, wildcards=not bad_wildcard)


def _validate_spec(spec: Object, *, secrets: bool, wildcards: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _validate_backend(backend, "spec.defaultBackend")
    for i, rule in enumerate(rules):
        path, host = f"spec.rules[{i}]", rule.get("host") or ""
        errors += _validate_host(host, f"{path}.host")
        if "*" not in host or wildcards:
            errors += _validate_rule(rule, path)
    for i, tls in enumerate(spec.get("tls") or ()):
        path = f"spec.tls[{i}]"
        for j, host in enumerate(tls.get("hosts") or ()):
            errors += [invalid(f"{path}.hosts[{j}]", host, e) for e in _host_problems(host)]
        if secrets:
            errors += [invalid(f"{path}.secretName", tls["secretName"], e) for e in _secret_problems(tls)]
    name = spec.get("ingressClassName")
    if name is not None:
        errors += [invalid("spec.ingressClassName", name, e) for e in dns_subdomain(name)]
    return errors


def _host_problems(host: str) -> list[str]:
    return wildcard_subdomain(host) if "*" in host else dns_subdomain(host)


def _secret_problems(tls: Object) -> list[str]:
    return dns_subdomain(tls["secretName"]) if tls.get("secretName") else []


def _validate_host(host: str, path: str) -> list[FieldError]:
    if not host:
        return []
    errors = [invalid(path, host, "must be a DNS name, not an IP address")] if parse_ip(host) is not None else []
    return errors + [invalid(path, host, e) for e in _host_problems(host)]


def _validate_rule(rule: Object, path: str) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    paths = http.get("paths") or []
    errors = [] if paths else [required(f"{path}.http.paths")]
    for i, given in enumerate(paths):
        errors += _validate_path(given, f"{path}.http.paths[{i}]")
    return errors


def _validate_path(given: Object, path: str) -> list[FieldError]:
    kind, value, at = given.get("pathType"), given.get("path") or "", f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: list[FieldError] = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        errors.append(invalid(at, value, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(at, value, f"must not contain '{part}'") for part in _BAD_PARTS if part in value]
        errors += [invalid(at, value, f"cannot end with '{end}'") for end in _BAD_ENDS if value.endswith(end)]
    return errors + _validate_backend(given.get("backend") or {}, f"{path}.backend")


def _validate_backend(backend: Object, path: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_reference(f"{path}.resource", resource)
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service.get("name") or ""
    errors = [invalid(f"{path}.service.name", name, e) for e in dns_label(name)] if name else []
    if not name:
        errors.append(required(f"{path}.service.name"))
    port = service.get("port") or {}
    named, number = port.get("name") or "", port.get("number", 0)
    if named and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif named:
        errors += [invalid(f"{path}.service.port.name", named, e) for e in port_name(named)]
    elif number:
        errors += [invalid(f"{path}.service.port.number", number, e) for e in port_number(number)]
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _class_annotation(decoded: Object) -> str | None:
    given: str | None = (decoded["metadata"].get("annotations") or {}).get(_CLASS)
    return given


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if old is None and _class_annotation(new) is not None and (new.get("spec") or {}).get("ingressClassName") is None:
        return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def class_name(decoded: Object) -> str:
    name = (decoded.get("spec") or {}).get("ingressClassName")
    return "<none>" if name is None else name


def hosts(decoded: Object) -> str:
    rules = (decoded.get("spec") or {}).get("rules") or []
    named = [rule["host"] for rule in rules if rule.get("host")]
    if not named:
        return "*"
    shown = ",".join(named[:_SHOWN_HOSTS])
    # As upstream: rules without a host count, once there are enough with one before them.
    seen = 0
    for rule in rules:
        if seen == _SHOWN_HOSTS:
            return f"{shown} + {len(rules) - _SHOWN_HOSTS} more..."
        seen += bool(rule.get("host"))
    return shown


def ports(decoded: Object) -> str:
    return "80, 443" if (decoded.get("spec") or {}).get("tls") else "80"


RESOURCE = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="Ingress",
    prefix="ingress",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=keep_spec,
                validate_update=validate_ingress_status,
                warnings=status_warnings,
                reset=excluding("spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Class", class_name),
        Column("Hosts", hosts),
        Column("Address", lambda decoded: ",".join(addresses_of(decoded))),
        Column("Ports", ports),
        AGE,
    ),
)
