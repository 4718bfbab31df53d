"""CustomResourceDefinitions, as a resource: their defaults, their life, and when they may go."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.apiextensions.definition import FINALIZER, condition, is_true
from kapi.apiextensions.validation import validate, validate_name_of, validate_status_update, validate_update
from kapi.apiextensions.warnings import warnings
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status
from kapi.registry.table import CREATED_AT, NAME, Column, field_value


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    if not any((spec["conversion"].get("webhook") or {}).values()):
        spec["conversion"].pop("webhook", None)
    service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    if not spec.get("preserveUnknownFields"):
        spec.pop("preserveUnknownFields", None)
    status = new.setdefault("status", {})
    if not status.get("storedVersions"):
        status["storedVersions"] = _storage(spec)


def _storage(spec: Object) -> list[str]:
    return [v["name"] for v in spec.get("versions") or () if v.get("storage")][:1]


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": _storage(new["spec"]) or None,
    }
    new["metadata"]["generation"] = 1


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    bump_generation(new, old)
    stored = list((new.get("status") or {}).get("storedVersions") or ())
    missing = [name for name in _storage(new["spec"]) if name not in stored]
    if missing:
        new["status"] = {**new["status"], "storedVersions": stored + missing}


def waits(obj: Object) -> bool:
    """The first delete only marks the definition: its instances go first."""
    return not obj["metadata"].get("deletionTimestamp")


def mark_deleting(obj: Object, now: str) -> None:
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp"):
        metadata["deletionGracePeriodSeconds"] = 0
        return
    metadata["deletionTimestamp"] = now
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    status = obj.setdefault("status", {})
    conditions = status["conditions"] = status.get("conditions") or []
    terminating = condition(obj, "Terminating")
    if terminating is None:
        terminating = {"type": "Terminating"}
        conditions.append(terminating)
    terminating |= {
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }


def versions_text(obj: Object) -> str:
    """The served versions, and which of them is stored."""
    served = [v for v in obj["spec"].get("versions") or () if v.get("served")]
    return ",".join(f"{v['name']}(storage)" if v.get("storage") else v["name"] for v in served)


RESOURCE = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    prefix="apiextensions.k8s.io/customresourcedefinitions",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        validate_name_of=validate_name_of,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        warnings=warnings,
        any_finalizer=True,
        unconditional_update=False,
        garbage_collected=False,
        holds=waits,
        mark_deleting=mark_deleting,
        precondition_failed="precondition failed",
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_spec,
                validate_update=validate_status_update,
                any_finalizer=True,
                unconditional_update=False,
                reset=excluding("spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Scope", field_value("spec", "scope")),
        Column("Versions", versions_text),
        CREATED_AT,
        Column("Group", field_value("spec", "group"), priority=1),
        Column("Kind", field_value("spec", "names", "kind"), priority=1),
        Column("ShortNames", lambda obj: ",".join(obj["spec"]["names"].get("shortNames") or ()), priority=1),
        Column("Established", lambda obj: is_true(obj, "Established"), type="boolean", priority=1),
    ),
)
