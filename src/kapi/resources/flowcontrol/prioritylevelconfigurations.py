"""PriorityLevelConfigurations: shares of the server's concurrency, and what becomes of requests beyond them."""

from __future__ import annotations

import math

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, go_struct, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.flowcontrol.mandatory import PRIORITY_LEVELS
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.flowcontrol.conditions import STATUS, prepare_for_create, prepare_for_update, validate_conditions

_MOST_QUEUES = 10_000_000
_HASH_BITS = 60
_QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
_ZERO_SHARES = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_PERCENT = "must be between 0 and 100, inclusive"
_NATURAL = "must be a non-negative integer"


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    exempt, limited = spec.get("exempt"), spec.get("limited")
    if exempt is not None:
        _fill(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if limited is None:
        return
    _fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        queuing.update({field: queuing.get(field) or value for field, value in _QUEUING.items()})


def _fill(settings: Object, **values: int) -> None:
    for field, value in values.items():
        if settings.get(field) is None:
            settings[field] = value


def validate(_: Call, new: Object) -> list[FieldError]:
    name, spec = new["metadata"].get("name", ""), new["spec"]
    errors: list[FieldError] = []
    if _ZERO_SHARES in (new["metadata"].get("annotations") or {}):
        errors.append(forbidden("metadata.annotations", f"annotation '{_ZERO_SHARES}' is forbidden"))
    errors += _validate_spec(name, spec)
    errors += _validate_fixed(name, spec)
    errors += validate_conditions(new.get("status"))
    return errors + _validate_union(spec)


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


def _validate_spec(name: str, spec: Object) -> list[FieldError]:
    kind, exempt, limited = spec.get("type", ""), spec.get("exempt"), spec.get("limited")
    errors: list[FieldError] = []
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt" and exempt is not None:
        errors += _validate_shares(exempt, "spec.exempt")
    elif kind == "Limited" and limited is not None:
        errors += _validate_limited(limited, "spec.limited")
    elif kind and kind not in ("Exempt", "Limited"):
        errors.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
    return errors


def _validate_shares(exempt: Object, path: str) -> list[FieldError]:
    shares, lendable = exempt["nominalConcurrencyShares"], exempt["lendablePercent"]
    errors = [invalid(f"{path}.nominalConcurrencyShares", shares, _NATURAL)] if shares < 0 else []
    return errors if 0 <= lendable <= 100 else [*errors, invalid(f"{path}.lendablePercent", lendable, _PERCENT)]


def _validate_limited(limited: Object, path: str) -> list[FieldError]:
    shares, lendable = limited["nominalConcurrencyShares"], limited["lendablePercent"]
    borrowing, response = limited.get("borrowingLimitPercent"), limited.get("limitResponse") or {}
    errors = [invalid(f"{path}.nominalConcurrencyShares", shares, _NATURAL)] if shares < 0 else []
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Queue" and queuing is not None:
        errors += _validate_queuing(queuing, f"{path}.limitResponse.queuing")
    elif kind and kind not in ("Queue", "Reject"):
        errors.append(not_supported(f"{path}.limitResponse.type", kind, ("Queue", "Reject")))
    if not 0 <= lendable <= 100:
        errors.append(invalid(f"{path}.lendablePercent", lendable, _PERCENT))
    if borrowing is not None and borrowing < 0:
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowing, f"if specified, {_NATURAL}"))
    return errors


def _validate_queuing(queuing: Object, path: str) -> list[FieldError]:
    length, queues, hand = queuing["queueLengthLimit"], queuing["queues"], queuing["handSize"]
    errors = [invalid(f"{path}.queueLengthLimit", length, "must be positive")] if length <= 0 else []
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_HASH_BITS}"
        errors.append(invalid(f"{path}.handSize", hand, why))
    return errors


def _validate_fixed(name: str, spec: Object) -> list[FieldError]:
    fixed = PRIORITY_LEVELS.get(name)
    if fixed is None:
        return []
    if name != "exempt":
        why = f"spec of '{name}' must equal the fixed value"
        return [] if spec == fixed else [invalid("spec", go_struct(spec), why)]
    why = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
    return [] if {**spec, "exempt": fixed["exempt"]} == fixed else [invalid("spec", go_struct(spec), why)]


def _validate_union(spec: Object) -> list[FieldError]:
    """Each type has its own settings, and only those. As upstream's declared rules, these are reported last."""
    kind, exempt, limited = spec.get("type", ""), spec.get("exempt"), spec.get("limited")
    errors: list[FieldError] = []
    if exempt is not None and kind != "Exempt":
        errors.append(forbidden("spec.exempt", ""))
    if limited is not None and kind != "Limited":
        errors.append(forbidden("spec.limited", ""))
    if limited is None and kind == "Limited":
        errors.append(required("spec.limited"))
    if not kind:
        errors.append(required("spec.type"))
    if limited is None:
        return errors
    response, path = limited.get("limitResponse") or {}, "spec.limited.limitResponse"
    if response.get("queuing") is not None and response.get("type") != "Queue":
        errors.append(forbidden(f"{path}.queuing", ""))
    if response.get("queuing") is None and response.get("type") == "Queue":
        errors.append(required(f"{path}.queuing"))
    return errors if response.get("type") else [*errors, required(f"{path}.type")]


def _queuing(field: str) -> Column:
    names = {"queues": "Queues", "handSize": "HandSize", "queueLengthLimit": "QueueLengthLimit"}
    value = field_value("spec", "limited", "limitResponse", "queuing", field, absent="<none>")
    return Column(names[field], value)


RESOURCE = Resource(
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    kind="PriorityLevelConfiguration",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        reset=excluding("status"),
    ),
    subresources={"status": STATUS},
    columns=(
        NAME,
        Column("Type", field_value("spec", "type")),
        Column("NominalConcurrencyShares", field_value("spec", "limited", "nominalConcurrencyShares", absent="<none>")),
        _queuing("queues"),
        _queuing("handSize"),
        _queuing("queueLengthLimit"),
        AGE,
    ),
)
