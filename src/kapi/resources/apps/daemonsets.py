"""DaemonSets: a pod of one template on every node that fits."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, copy_field, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.podspec.validation import validate_pod_template
from kapi.resources.podspec.warnings import template_warnings
from kapi.resources.workload.columns import containers, count, labels_text, nested, selector
from kapi.resources.workload.rules import (
    amount,
    at_most_all,
    nonnegative_fields,
    not_decremented,
    positive_int_or_percent,
    shown_strategy,
)
from kapi.resources.workload.selectors import (
    MISMATCH,
    always_restarting,
    fixed_selector,
    is_empty,
    labels_of,
    selects,
    shown_labels,
)

# Where the generation of the template is kept since it is no field any more.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default(new: Object) -> None:
    spec = new["spec"]
    strategy = spec["updateStrategy"]
    kind = strategy.get("type") or "RollingUpdate"
    strategy["type"] = kind
    if kind == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("maxUnavailable", 1)
    for field in ("maxUnavailable", "maxSurge"):
        if strategy.get("rollingUpdate") is not None:
            strategy["rollingUpdate"].setdefault(field, 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec["template"])
    if TEMPLATE_GENERATION not in (new["metadata"].get("annotations") or {}):
        _set_template_generation(new, 0)


def template_generation(decoded: Object) -> int:
    text = (decoded["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.lstrip("-").isdigit() else 0


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    start_generation(new)
    drop_disabled_template_fields(new["spec"]["template"])
    _set_template_generation(new, max(template_generation(new), 1))


def _set_template_generation(new: Object, generation: int) -> None:
    annotations = new["metadata"].get("annotations") or {}
    new["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(generation)}


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    changed = new["spec"]["template"] != old["spec"]["template"]
    _set_template_generation(new, template_generation(old) + changed)
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], None)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = fixed_selector(new["spec"], old["spec"])
    return errors + _validate_spec(call, new["spec"], old["spec"])


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    wanted, template = spec.get("selector"), spec["template"]
    errors = validate_label_selector(wanted or {}, "spec.selector")
    if not errors and not selects(wanted, labels_of(template)):
        errors.append(invalid("spec.template.metadata.labels", shown_labels(template), MISMATCH))
    if wanted is not None and is_empty(wanted):
        errors.append(invalid("spec.selector", wanted, "empty selector is invalid for daemonset"))
    errors += validate_pod_template(call, template, "spec.template", old and old["template"])
    errors += always_restarting(template, "DaemonSet")
    errors += nonnegative_fields(spec, "spec", "minReadySeconds")
    errors += _validate_strategy(spec["updateStrategy"], "spec.updateStrategy")
    return errors + nonnegative_fields(spec, "spec", "revisionHistoryLimit")


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(path, shown_strategy(strategy), ["RollingUpdate", "OnDelete"], in_order=True)]
    if rolling is None:
        return [required(f"{path}.rollingUpdate")]
    return _validate_rolling(rolling, f"{path}.rollingUpdate")


def _validate_rolling(rolling: Object, path: str) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = positive_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += positive_int_or_percent(surge, f"{path}.maxSurge")
    errors += at_most_all(unavailable, f"{path}.maxUnavailable")
    errors += at_most_all(surge, f"{path}.maxSurge")
    if amount(unavailable) and amount(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not amount(unavailable) and not amount(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if old is not None and template_generation(new) == template_generation(old):
        return []
    return template_warnings(new["spec"]["template"], "spec.template")


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    _set_template_generation(new, template_generation(old))


def validate_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = nonnegative_fields(
        status,
        "status",
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    return errors + not_decremented(status, old.get("status") or {}, "status", "collisionCount")


def node_selector(decoded: Object) -> str:
    return labels_text(nested(decoded, "spec", "template", "spec", "nodeSelector"))


RESOURCE = Resource(
    group="apps",
    version="v1",
    kind="DaemonSet",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_status_update, validate_update=validate_status, reset=excluding("spec")
            )
        )
    },
    columns=(
        NAME,
        count("Desired", "status", "desiredNumberScheduled"),
        count("Current", "status", "currentNumberScheduled"),
        count("Ready", "status", "numberReady"),
        count("Up-to-date", "status", "updatedNumberScheduled"),
        count("Available", "status", "numberAvailable"),
        Column("Node Selector", node_selector),
        AGE,
        *containers("spec", "template"),
        selector("spec", "selector"),
    ),
    hidden_annotations=(TEMPLATE_GENERATION,),
)
