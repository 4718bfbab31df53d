"""PodCertificateRequests: a node asks for a certificate on behalf of a pod that runs there."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.clock import SystemClock
from kapi.api.fields import OMITTED, FieldError, go_struct, invalid, not_supported, required, too_long
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, keep_all_but_status, keep_status
from kapi.registry.table import NAME, Column, field_value
from kapi.resources.certificates.issued import validate_issued
from kapi.resources.certificates.proofs import validate_proof
from kapi.resources.certificates.signers import is_kubernetes, validate_signer_name, validate_user_annotations
from kapi.resources.policy.conditions import validate_conditions

_OUTCOMES = ("Issued", "Denied", "Failed")
_LEAST_SECONDS, _MOST_SECONDS, _MOST_OF_KUBERNETES = 3600, 91 * 24 * 3600, 24 * 3600
_UID_LENGTH = 128


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors = validate_signer_name(spec.get("signerName", ""), "spec.signerName")
    errors += validate_user_annotations(spec.get("unverifiedUserAnnotations") or {}, "spec.unverifiedUserAnnotations")
    for owner in ("pod", "serviceAccount", "node"):
        name, uid = spec.get(f"{owner}Name", ""), spec.get(f"{owner}UID", "")
        errors += [invalid(f"spec.{owner}Name", name, e) for e in dns_subdomain(name)]
        if not uid:
            errors.append(invalid(f"spec.{owner}UID", uid, "must not be empty"))
        if len(uid.encode()) > _UID_LENGTH:
            errors.append(too_long(f"spec.{owner}UID", _UID_LENGTH))
    seconds, path = spec.get("maxExpirationSeconds"), "spec.maxExpirationSeconds"
    if seconds is None:
        return [*errors, required(path, "must be set")]
    most = _MOST_OF_KUBERNETES if is_kubernetes(spec.get("signerName", "")) else _MOST_SECONDS
    if not _LEAST_SECONDS <= seconds <= most:
        errors.append(invalid(path, seconds, f"must be in the range [{_LEAST_SECONDS}, {most}]"))
    return errors + validate_proof(spec)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return [] if new["spec"] == old["spec"] else [invalid("spec", go_struct(new["spec"]), "field is immutable")]


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    status, former = new.get("status") or {}, old.get("status") or {}
    conditions = status.get("conditions") or []
    errors = _validate_outcomes(conditions) + validate_conditions(conditions, "status.conditions")
    if errors:
        return errors
    if _outcome(former):
        why = "immutable after PodCertificateRequest is issued, denied, or failed"
        return [] if status == former else [invalid("status", OMITTED, why)]
    if _outcome(status) in ("Denied", "Failed"):
        why = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
        return [] if status.keys() == {"conditions"} else [invalid("status", OMITTED, why)]
    if _outcome(status) == "Issued":
        return validate_issued(new["spec"], status, SystemClock.now())
    why = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    return [] if status == former else [invalid("status", OMITTED, why)]


def _validate_outcomes(conditions: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    found = 0
    for i, condition in enumerate(conditions):
        path, kind, status = f"status.conditions.[{i}]", condition.get("type", ""), condition.get("status", "")
        if kind not in _OUTCOMES:
            errors.append(not_supported(f"{path}.type", kind, _OUTCOMES, in_order=True))
            continue
        found += 1
        if found > 1:
            why = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            errors.append(invalid(f"{path}.type", kind, why))
        if status != "True":
            errors.append(not_supported(f"{path}.status", status, ("True",)))
    return errors


def _outcome(status: Object) -> str:
    conditions = status.get("conditions") or []
    return next((c["type"] for c in conditions if c.get("type") in _OUTCOMES and c.get("status") == "True"), "")


def fields_of(decoded: Object) -> dict[str, str]:
    spec = decoded["spec"]
    return {**metadata_fields(decoded), **{f"spec.{f}": spec.get(f, "") for f in ("signerName", "podName", "nodeName")}}


def _state(request: Object) -> str:
    kinds = [c.get("type") for c in (request.get("status") or {}).get("conditions") or []]
    return next((kind for kind in reversed(kinds) if kind in _OUTCOMES), "Pending")


def _annotations(request: Object) -> str:
    annotations = request["spec"].get("unverifiedUserAnnotations") or {}
    return ",".join(f"{key}={annotations[key]}" for key in sorted(annotations)) or "<none>"


RESOURCE = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="PodCertificateRequest",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=keep_all_but_status,
                validate_update=validate_status_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("PodName", field_value("spec", "podName")),
        Column("ServiceAccountName", field_value("spec", "serviceAccountName")),
        Column("NodeName", field_value("spec", "nodeName")),
        Column("SignerName", field_value("spec", "signerName")),
        Column("State", _state),
        Column("UnverifiedUserAnnotations", _annotations),
    ),
    fields_of=fields_of,
    field_names=("spec.signerName", "spec.podName", "spec.nodeName"),
    namespace_selectable=False,
)
