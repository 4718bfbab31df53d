"""PodDisruptionBudgets: how many pods must stay when others are evicted."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, not_supported
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.policy.conditions import validate_conditions
from kapi.resources.workload.columns import count, nested
from kapi.resources.workload.rules import at_most_all, nonnegative_fields, positive_int_or_percent

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
# Stands for a selector that selects nothing, and nothing else.
_LEGACY = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
_MATCH_NOTHING = {"matchExpressions": [{"key": _LEGACY, "operator": "Exists"}]}


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = dict.fromkeys(_COUNTS, 0)
    start_generation(new)
    _strip_legacy(new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    bump_generation(new, old)
    if new["spec"].get("selector") != old["spec"].get("selector"):
        _strip_legacy(new)


def _strip_legacy(new: Object) -> None:
    """The reserved key is not mixed with what users select by."""
    selector = new["spec"].get("selector") or {}
    expressions = selector.get("matchExpressions") or []
    kept = [e for e in expressions if e.get("key") != _LEGACY]
    if selector == _MATCH_NOTHING or kept == expressions:
        return
    selector["matchExpressions"] = kept
    if not kept:
        del selector["matchExpressions"]


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors: list[FieldError] = []
    if least is not None and most is not None:
        errors.append(invalid("spec", go_struct(spec), "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        errors += positive_int_or_percent(spec.get(field), f"spec.{field}")
        errors += at_most_all(spec.get(field), f"spec.{field}")
    errors += validate_label_selector(spec.get("selector") or {}, "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = validate_conditions(status.get("conditions") or [], "status.conditions")
    return errors + nonnegative_fields(status, "status", *_COUNTS)


def _limit(name: str, field: str) -> Column:
    def text(decoded: Object) -> str:
        value = nested(decoded, "spec", field)
        return "N/A" if value is None else str(value)

    return Column(name, text)


RESOURCE = Resource(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    strategy=Strategy(
        any_finalizer=True,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        # As upstream, which asks no more of these names than of any.
        validate_name=path_segment,
        metadata_last=True,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                any_finalizer=True,
                prepare_for_update=keep_spec,
                validate_update=validate_status,
                unconditional_update=False,
                reset=excluding("spec"),
            )
        )
    },
    columns=(
        NAME,
        _limit("Min Available", "minAvailable"),
        _limit("Max Unavailable", "maxUnavailable"),
        count("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
)
