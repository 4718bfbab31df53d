"""ServiceCIDRs: the ranges that services' addresses come from."""

from __future__ import annotations

from kapi.api.addresses import parse_cidr, validate_canonical_cidr
from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, keep_all_but_status, keep_status
from kapi.registry.table import AGE, NAME, Column

_PATH = "spec.cidrs"
_IMMUTABLE = "field is immutable"


def cidrs_of(decoded: Object) -> list[str]:
    return list((decoded.get("spec") or {}).get("cidrs") or ())


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}


def validate(_: Call, new: Object) -> list[FieldError]:
    cidrs = cidrs_of(new)
    if not cidrs:
        return [required(_PATH, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid(_PATH, {"CIDRs": cidrs}, "may only hold up to 2 values")]
    errors: list[FieldError] = []
    for i, cidr in enumerate(cidrs):
        errors += validate_canonical_cidr(f"{_PATH}[{i}]", cidr)
    parsed = [parse_cidr(cidr) for cidr in cidrs]
    if len(parsed) == 2 and parsed[0] and parsed[1] and parsed[0].family == parsed[1].family:
        text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(_PATH, cidrs, text))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """The ranges stay; a second family may be added."""
    cidrs, before = cidrs_of(new), cidrs_of(old)
    if len(cidrs) == len(before):
        pairs = enumerate(zip(cidrs, before, strict=True))
        return [invalid(f"{_PATH}[{i}]", cidr, _IMMUTABLE) for i, (cidr, was) in pairs if cidr != was]
    if len(before) == 1 and len(cidrs) == 2:
        errors = [invalid(f"{_PATH}[0]", cidrs[0], _IMMUTABLE)] if cidrs[0] != before[0] else []
        return errors + validate(call, new)
    return [invalid(_PATH, (new.get("spec") or {}).get("cidrs"), _IMMUTABLE)]


RESOURCE = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="ServiceCIDR",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(prepare_for_update=keep_all_but_status, reset=excluding("metadata", "spec"))
        )
    },
    columns=(NAME, Column("CIDRs", lambda decoded: ",".join(cidrs_of(decoded))), AGE),
)
