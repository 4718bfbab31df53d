"""CertificateSigningRequests: someone asks for a certificate, someone approves or denies it, a signer issues it."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.clock import SystemClock, rfc3339
from kapi.api.difference import difference
from kapi.api.fields import FieldError, duplicate, forbidden, go_struct, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, copy_field
from kapi.registry.table import AGE, NAME, Column, field_value, human_duration
from kapi.resources.certificates import pem
from kapi.resources.certificates.signers import validate_signer_name

_LEGACY = "kubernetes.io/legacy-unknown"
_DECIDED = ("Approved", "Denied")
_LASTING = (*_DECIDED, "Failed")
_STATUSES = ("True", "False", "Unknown")
_USAGES = (
    "signing",
    "digital signature",
    "content commitment",
    "key encipherment",
    "key agreement",
    "data encipherment",
    "cert sign",
    "crl sign",
    "encipher only",
    "decipher only",
    "any",
    "server auth",
    "client auth",
    "code signing",
    "email protection",
    "s/mime",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "timestamping",
    "ocsp signing",
    "microsoft sgc",
    "netscape sgc",
)


def prepare_for_create(call: Call, new: Object) -> None:
    """Who asks is who is authenticated, whatever the request says."""
    spec, user = new["spec"], call.user
    for field, value in (
        ("username", user.name),
        ("uid", user.uid),
        ("groups", list(user.groups)),
        ("extra", {key: list(values) for key, values in user.extra.items()}),
    ):
        if value:
            spec[field] = value
        else:
            spec.pop(field, None)
    new["status"] = {}


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    copy_field(new, old, "status")


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    for kind in _DECIDED:
        _keep_conditions(new, old, kind)
    _stamp(new, old)


def prepare_for_approval(_: Call, new: Object, old: Object) -> None:
    _stamp(new, old)
    conditions = _conditions(new)
    copy_field(new, old, "spec")
    new["status"] = {**(old.get("status") or {}), "conditions": conditions}
    if not conditions:
        del new["status"]["conditions"]


def _conditions(request: Object, kind: str | None = None) -> list[Object]:
    found: list[Object] = (request.get("status") or {}).get("conditions") or []
    return found if kind is None else [c for c in found if c.get("type") == kind]


def _keep_conditions(new: Object, old: Object, kind: str) -> None:
    """Who writes the status does not decide: what was decided stays as it was."""
    former = _conditions(old, kind)
    conditions = _conditions(new)
    places = [i for i, c in enumerate(conditions) if c.get("type") == kind]
    if len(places) == len(former):
        for place, condition in zip(places, former, strict=True):
            conditions[place] = condition


def _stamp(new: Object, old: Object) -> None:
    now = rfc3339(SystemClock.now())
    former = {(c.get("type"), c.get("status")): c.get("lastTransitionTime") for c in reversed(_conditions(old))}
    for condition in _conditions(new):
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        since = former.get((condition.get("type"), condition.get("status")))
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since or now


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new, None)


def _validate(new: Object, old: Object | None) -> list[FieldError]:
    """What was wrong before is not held against an update."""
    spec, former = new["spec"], (old or {}).get("spec") or {}
    errors = _validate_request(spec)
    usages, known = spec.get("usages") or [], former.get("usages") or []
    if not usages:
        errors.append(required("spec.usages"))
    if set(known) <= set(_USAGES):
        errors += [not_supported(f"spec.usages[{i}]", u, _USAGES) for i, u in enumerate(usages) if u not in _USAGES]
    if len(set(known)) == len(known):
        errors += [duplicate(f"spec.usages[{i}]", u) for i, u in enumerate(usages) if u in usages[:i]]
    signer = spec.get("signerName", "")
    if signer == _LEGACY and former.get("signerName") != _LEGACY:
        errors.append(invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, why))
    errors += _validate_conditions(new, old)
    certificate = (new.get("status") or {}).get("certificate")
    if old is None or certificate != (old.get("status") or {}).get("certificate"):
        why = _wrong_with_certificate(pem.decode(certificate))
        if why:
            errors.append(invalid("status.certificate", "<certificate data>", why))
    return errors + _validate_decision(new, old)


def _validate_request(spec: Object) -> list[FieldError]:
    path, text = "spec.request", spec.get("request")
    block = next(pem.blocks(pem.decode(text)), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        return [invalid(path, text, "PEM block type must be CERTIFICATE REQUEST")]
    request = pem.parse_request(block.content)
    if request is None:
        return [invalid(path, text, pem.why_malformed(block.content))]
    return [] if pem.signed(request) else [invalid(path, text, pem.why_unsigned(request))]


def _validate_conditions(new: Object, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    former = [c.get("type", "") for c in _conditions(old or {})]
    seen: set[str] = set()
    for i, condition in enumerate(_conditions(new)):
        path, kind, status = f"status.conditions[{i}]", condition.get("type", ""), condition.get("status", "")
        if not kind and "" not in former:
            errors.append(required(f"{path}.type"))
        allowed = ("True",) if kind in _LASTING else _STATUSES
        if not status:
            errors.append(required(f"{path}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{path}.status", status, allowed))
        if kind in seen and len(set(former)) == len(former):
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
    return errors


def _validate_decision(new: Object, old: Object | None) -> list[FieldError]:
    """Approved or denied, not both. As upstream's declared rules, this is reported last."""
    if not all(_conditions(new, kind) for kind in _DECIDED) or all(_conditions(old or {}, kind) for kind in _DECIDED):
        return []
    members = [f'conditions[{{"type": "{kind}"}}]' for kind in _DECIDED]
    why = f"must specify at most one of: {', '.join(f'`{member}`' for member in members)}"
    return [invalid("status.conditions", f"{{{', '.join(members)}}}", why)]


def _wrong_with_certificate(text: bytes) -> str:
    if not text:
        return ""
    found = False
    for block in pem.blocks(text):
        if block.type != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.type}"'
        if block.headers:
            return "no PEM block headers are permitted"
        if pem.parse_certificate(block.content) is None:
            return "x509: malformed certificate"
        found = True
    return "" if found else "must contain at least one CERTIFICATE PEM block"


def _validate_change(new: Object, old: Object, *, decides: bool = False, issues: bool = False) -> list[FieldError]:
    path = "status.conditions"
    errors = _validate(new, old)
    decision = errors[-1:] if errors and errors[-1].path == path and errors[-1].reason == "FieldValueInvalid" else []
    errors = errors[: len(errors) - len(decision)]
    for kind in _LASTING:
        if len(_conditions(new, kind)) < len(_conditions(old, kind)):
            errors.append(forbidden(path, f'updates may not remove a condition of type "{kind}"'))
    for kind in () if decides else _DECIDED:
        before, after = _conditions(old, kind), _conditions(new, kind)
        if len(after) > len(before):
            errors.append(forbidden(path, f'updates may not add a condition of type "{kind}"'))
        elif len(after) == len(before) and before != after:
            changes = difference(go_struct(before), go_struct(after))
            errors.append(forbidden(path, f'updates may not modify a condition of type "{kind}"\n{changes}'))
    issued, issuing = ((r.get("status") or {}).get("certificate") for r in (old, new))
    if issued != issuing:
        if not issues:
            errors.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif issued:
            errors.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors + decision


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_change(new, old)


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_change(new, old, issues=True)


def validate_approval(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_change(new, old, decides=True)


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "spec.signerName": decoded["spec"].get("signerName", "")}


def _duration(request: Object) -> str:
    seconds = request["spec"].get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(seconds)


def _condition(request: Object) -> str:
    kinds = {c.get("type") for c in _conditions(request)}
    shown = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    shown += ",Failed" if "Failed" in kinds else ""
    return shown + (",Issued" if (request.get("status") or {}).get("certificate") else "")


RESOURCE = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="CertificateSigningRequest",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        validate_name=lambda _: [],
        reset=excluding("spec", "status"),
    ),
    subresources={
        "approval": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_approval,
                validate_update=validate_approval,
                reset=excluding("spec", "status.certificate"),
            )
        ),
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_status_update,
                validate_update=validate_status_update,
                reset=excluding("spec", "status.conditions"),
            )
        ),
    },
    columns=(
        NAME,
        AGE,
        Column("SignerName", lambda request: request["spec"].get("signerName") or "<none>"),
        Column("Requestor", field_value("spec", "username")),
        Column("RequestedDuration", _duration),
        Column("Condition", _condition),
    ),
    fields_of=fields_of,
    field_names=("spec.signerName",),
)
