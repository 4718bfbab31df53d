"""NetworkPolicies: which traffic may reach which pods, and leave them."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.api.addresses import cidr_warnings, parse_cidr, validate_cidr
from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, missing_last, not_supported, required
from kapi.api.objects import Object
from kapi.api.ports import port_number, validate_port
from kapi.api.selectors import selector_from_object, validate_label_selector
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.registry.table import AGE, NAME, Column

_TYPES = ("Ingress", "Egress")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    return missing_last(_validate_spec(new.get("spec") or {}, known=[]), "cidr")


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    known = [cidr for _, block in ip_blocks(old) for cidr in (block.get("cidr"), *(block.get("except") or ())) if cidr]
    return missing_last(_validate_spec(new.get("spec") or {}, known), "cidr")


def _validate_spec(spec: Object, known: list[str]) -> list[FieldError]:
    errors = validate_label_selector(spec.get("podSelector") or {}, "spec.podSelector")
    for direction, side in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{i}]"
            for j, port in enumerate(rule.get("ports") or ()):
                errors += _validate_port(f"{path}.ports[{j}]", port)
            for j, peer in enumerate(rule.get(side) or ()):
                errors += _validate_peer(f"{path}.{side}[{j}]", peer, known)
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for i, kind in enumerate(types):
        if kind not in _TYPES:
            errors.append(not_supported(f"spec.policyTypes[{i}]", kind, _TYPES, in_order=True))
    return errors


def _validate_port(path: str, given: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    protocol, port, end = given.get("protocol"), given.get("port"), given.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS, in_order=True))
    at = f"{path}.endPort"
    if isinstance(port, int):
        errors += validate_port(f"{path}.port", port)
        if end is not None:
            if end < port:
                errors.append(invalid(at, end, "must be greater than or equal to `port`"))
            errors += [invalid(at, end, e) for e in port_number(end)]
        return errors
    if end is not None:
        why = "non-numeric" if port is not None else "not specified"
        errors.append(invalid(at, end, f"may not be specified when `port` is {why}"))
    return errors + (validate_port(f"{path}.port", port) if port is not None else [])


def _validate_peer(path: str, peer: Object, known: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    selectors = [field for field in ("podSelector", "namespaceSelector") if peer.get(field) is not None]
    for field in selectors:
        errors += validate_label_selector(peer[field], f"{path}.{field}")
    block = peer.get("ipBlock")
    if block is not None:
        errors += _validate_block(f"{path}.ipBlock", block, known)
        if selectors:
            errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    elif not selectors:
        errors.append(required(path, "must specify a peer"))
    return errors


def _validate_block(path: str, block: Object, known: list[str]) -> list[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        return [required(f"{path}.cidr")]
    errors = validate_cidr(f"{path}.cidr", text, known)
    cidr = parse_cidr(text)
    if cidr is None:
        return errors
    for i, value in enumerate(block.get("except") or ()):
        at = f"{path}.except[{i}]"
        errors += validate_cidr(at, value, known)
        inner = parse_cidr(value)
        if inner is None:
            continue
        inside = inner.family == cidr.family and cidr.first <= inner.first <= cidr.last
        if not inside or cidr.bits >= inner.bits:
            errors.append(invalid(at, value, "must be a strict subset of `cidr`"))
    return errors


def ip_blocks(decoded: Object) -> Iterator[tuple[str, Object]]:
    spec = decoded.get("spec") or {}
    for direction, side in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(side) or ()):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{i}].{side}[{j}].ipBlock", peer["ipBlock"]


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    told: list[str] = []
    for path, block in ip_blocks(new):
        told += cidr_warnings(f"{path}.cidr", block.get("cidr") or "")
        for i, value in enumerate(block.get("except") or ()):
            told += cidr_warnings(f"{path}.except[{i}]", value)
    return told


def pod_selector(decoded: Object) -> str:
    return str(selector_from_object((decoded.get("spec") or {}).get("podSelector") or {})) or "<none>"


RESOURCE = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
    ),
    columns=(NAME, Column("Pod-Selector", pod_selector), AGE),
)
