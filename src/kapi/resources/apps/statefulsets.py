"""StatefulSets: pods with a name, an order and storage of their own."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, not_supported, required
from kapi.api.names import dns_label
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.apps.deployments import ready
from kapi.resources.autoscaling import scale
from kapi.resources.core.claim_specs import claim_spec_warnings, default_claim_spec, validate_claim_spec
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.podspec.warnings import template_warnings
from kapi.resources.workload.columns import containers
from kapi.resources.workload.rules import (
    IMMUTABLE,
    amount,
    at_most_all,
    nonnegative,
    nonnegative_fields,
    not_above,
    not_decremented,
    positive_int_or_percent,
)
from kapi.resources.workload.selectors import (
    always_restarting,
    fixed_selector,
    is_empty,
    shown_selector,
    validate_matching_template,
)

_RETENTION = ("Retain", "Delete")


def default(new: Object) -> None:
    spec = new["spec"]
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None:
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for field in ("whenDeleted", "whenScaled"):
        if not retention.get(field):
            retention[field] = "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim(claim)


def _default_claim(claim: Object) -> None:
    claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
    default_claim_spec(claim["spec"])
    if not claim["status"].get("phase"):
        claim["status"]["phase"] = "Pending"


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"replicas": 0, "availableReplicas": 0}
    start_generation(new)
    drop_disabled_template_fields(new["spec"]["template"])


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors = _validate_policies(spec)
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        errors += validate_claim_spec(claim["spec"], f"spec.volumeClaimTemplates[{i}].spec")
    errors += _validate_counts(spec)
    service = spec.get("serviceName")
    if service:
        errors += [invalid("spec.serviceName", service, e) for e in dns_label(service)]
    return errors + _validate_template(call, spec, None)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """What never changes is not checked again: it may be older than the rules."""
    spec, former = new["spec"], old["spec"]
    errors = _validate_policies(spec) + _validate_counts(spec) + _validate_template(call, spec, former)
    errors += fixed_selector(spec, former)
    claims = spec.get("volumeClaimTemplates") or []
    if claims != (former.get("volumeClaimTemplates") or []):
        errors.append(invalid("spec.volumeClaimTemplates", go_struct(claims), IMMUTABLE))
    for field in ("serviceName", "podManagementPolicy"):
        if spec.get(field) != former.get(field):
            errors.append(invalid(f"spec.{field}", spec.get(field, ""), IMMUTABLE))
    return errors


def _validate_policies(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", spec["podManagementPolicy"], detail))
    errors += _validate_strategy(spec["updateStrategy"], "spec.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if retention.get(field) not in _RETENTION:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(not_supported(path, retention.get(field, ""), _RETENTION, in_order=True))
    return errors


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        return [invalid(f"{path}.rollingUpdate", go_struct(rolling), "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": go_struct(rolling)}
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    errors = nonnegative(rolling.get("partition"), f"{path}.rollingUpdate.partition")
    unavailable, at = rolling.get("maxUnavailable"), f"{path}.rollingUpdate.maxUnavailable"
    if unavailable is not None:
        errors += positive_int_or_percent(unavailable, at)
        if not amount(unavailable):
            errors.append(invalid(at, unavailable, "cannot be 0"))
        errors += at_most_all(unavailable, at)
    return errors


def _validate_counts(spec: Object) -> list[FieldError]:
    errors = nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    return errors + nonnegative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start")


def _validate_template(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    wanted: Object | None = spec.get("selector")
    usable = True
    if wanted is None:
        errors = [required("spec.selector")]
    else:
        errors = validate_label_selector(wanted, "spec.selector")
        usable = not errors
        if is_empty(wanted):
            errors.append(invalid("spec.selector", wanted, "empty selector is invalid for statefulset"))
    template = spec["template"]
    if usable:
        former = _as_validated(old) if old is not None else None
        errors += validate_matching_template(call, _as_validated(spec), wanted, former)
    else:
        errors.append(invalid("spec.selector", shown_selector(wanted), ""))
    return errors + always_restarting(template, "StatefulSet")


def _as_validated(spec: Object) -> Object:
    """The template with the volumes of the claims, and without the names that each pod is given by itself."""
    template: Object = spec["template"]
    claims = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    pod = {key: value for key, value in template["spec"].items() if key not in ("hostname", "subdomain")}
    if claims:
        given = [v for v in pod.get("volumes") or () if v.get("name") not in claims]
        pod["volumes"] = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in dict.fromkeys(claims)] + given
    return {**template, "spec": pod}


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    spec, said = new["spec"], []
    if old is None or new["metadata"].get("generation") != old["metadata"].get("generation"):
        said += template_warnings(spec["template"], "spec.template")
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        # As upstream, whose two paths differ.
        at = f"spec.volumeClaimTemplates[{i}]" + (".Spec" if old is not None else "")
        said += claim_spec_warnings(claim["spec"], at)
    if spec.get("revisionHistoryLimit", 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        said.append(f"spec.revisionHistoryLimit: {text}")
    return said


def validate_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    errors = nonnegative_fields(status, "status", "replicas", *parts, "observedGeneration", "collisionCount")
    errors += not_above(status, "status", "replicas", "cannot be greater than status.replicas", *parts)
    errors += not_above(
        status, "status", "readyReplicas", "cannot be greater than status.readyReplicas", "availableReplicas"
    )
    return errors + not_decremented(status, old.get("status") or {}, "status", "collisionCount")


STRATEGY = Strategy(
    default=default,
    prepare_for_create=prepare_for_create,
    validate=validate,
    prepare_for_update=prepare_for_update,
    validate_update=validate_update,
    warnings=warnings,
    validate_name=dns_label,
    reset=excluding("status"),
)

RESOURCE = Resource(
    group="apps",
    version="v1",
    kind="StatefulSet",
    strategy=STRATEGY,
    subresources={
        "scale": Subresource(strategy=STRATEGY, view=scale.VIEW),
        "status": Subresource(
            strategy=Strategy(prepare_for_update=keep_spec, validate_update=validate_status, reset=excluding("spec"))
        ),
    },
    columns=(NAME, Column("Ready", ready), AGE, *containers("spec", "template")),
)
