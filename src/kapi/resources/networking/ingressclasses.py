"""IngressClasses: who implements an ingress, and with which parameters."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, missing_last, not_supported, required, too_long
from kapi.api.names import dns_label, dns_subdomain, path_segment, validate_domain_prefixed_path
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.registry.table import AGE, NAME, Column, field_value

_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_LONGEST_CONTROLLER = 250


def default(new: Object) -> None:
    parameters = (new.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new.get("spec") or {}
    controller = spec.get("controller") or ""
    errors: list[FieldError] = []
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        errors.append(too_long("spec.controller", _LONGEST_CONTROLLER))
    errors += validate_domain_prefixed_path("spec.controller", controller)
    if spec.get("parameters") is not None:
        errors += _validate_parameters(spec["parameters"])
    return missing_last(errors, "kind", "name")


def _validate_parameters(parameters: Object) -> list[FieldError]:
    path = "spec.parameters"
    errors = validate_reference(path, parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        return [*errors, not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))]
    if scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += [invalid(f"{path}.namespace", namespace, e) for e in dns_label(namespace)]
    return errors


def validate_reference(path: str, reference: Object) -> list[FieldError]:
    """A group, a kind and a name; the ingress' own backends use it, too."""
    group = reference.get("apiGroup")
    errors = [invalid(f"{path}.apiGroup", group, e) for e in dns_subdomain(group)] if group is not None else []
    for field in ("kind", "name"):
        value = reference.get(field) or ""
        if not value:
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", value, e) for e in path_segment(value)]
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    controller = (new.get("spec") or {}).get("controller")
    errors: list[FieldError] = []
    if controller != (old.get("spec") or {}).get("controller"):
        errors.append(invalid("spec.controller", controller or "", "field is immutable"))
    return errors + validate(call, new)


def name(decoded: Object) -> str:
    metadata = decoded["metadata"]
    marked = (metadata.get("annotations") or {}).get(_DEFAULT) == "true"
    return f"{metadata['name']} (default)" if marked else metadata["name"]


def parameters(decoded: Object) -> str:
    given = (decoded.get("spec") or {}).get("parameters")
    if given is None:
        return "<none>"
    group = f".{given['apiGroup']}" if given.get("apiGroup") is not None else ""
    return f"{given['kind']}{group}/{given['name']}"


RESOURCE = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="IngressClass",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
    ),
    columns=(
        Column(NAME.name, name, format=NAME.format, description=NAME.description),
        Column("Controller", field_value("spec", "controller")),
        Column("Parameters", parameters),
        AGE,
    ),
)
