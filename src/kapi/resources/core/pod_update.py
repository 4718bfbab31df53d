"""What may change in a pod once it is there, through the pod itself and through its ephemeralcontainers and resize."""

from __future__ import annotations

import copy
import json
from typing import Any

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, required
from kapi.api.formats import inclusive_range
from kapi.api.objects import Object
from kapi.resources.core.pod_validation import validate_pod
from kapi.resources.podspec.annotations import APP_ARMOR, MIRROR, validate_pod_annotations
from kapi.resources.podspec.containers import validate_image
from kapi.resources.podspec.scheduling import validate_tolerations

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_MAX_INT32 = 0x7FFFFFFF
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    spec, former = new["spec"], old["spec"]
    errors = validate_pod(call, new, former)
    errors += validate_annotation_updates(new, old)
    if spec == former:
        return errors
    for field in ("containers", "initContainers"):
        found, stop = _validate_container_updates(spec.get(field) or [], former.get(field) or [], f"spec.{field}")
        errors += found
        if stop:
            return errors
    found, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), former.get("activeDeadlineSeconds"))
    errors += found
    if stop:
        return errors
    errors += _validate_tolerations(spec.get("tolerations") or [], former.get("tolerations") or [])
    errors += _validate_gates(spec.get("schedulingGates") or [], former.get("schedulingGates") or [])
    return errors + _validate_rest(spec, former)


def validate_annotation_updates(new: Object, old: Object) -> list[FieldError]:
    """Some annotations are for good; then all of them are looked at as on create."""
    path = "metadata.annotations"
    wanted, former = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    if wanted == former:
        return []
    errors: list[FieldError] = []
    for key, value in former.items():
        if wanted.get(key) == value:
            continue
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations"))
        if key == MIRROR:
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation"))
    for key in wanted:
        if key in former:
            continue
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR:
            errors.append(forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
    return errors + validate_pod_annotations(wanted, new["spec"], path)


def _validate_container_updates(new: list[Object], old: list[Object], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    errors: list[FieldError] = []
    for i, container in enumerate(new):
        if not container.get("image"):
            errors.append(required(f"{path}[{i}].image"))
        errors += validate_image(container, f"{path}[{i}]")
    return errors, False


def _validate_deadline(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    """It may be set, and come nearer."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        return [invalid(path, None, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= _MAX_INT32:
        return [invalid(path, new, inclusive_range(0, _MAX_INT32))], True
    if old is not None and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _validate_tolerations(new: list[Object], old: list[Object]) -> list[FieldError]:
    def same(toleration: Object) -> Object:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [same(toleration) for toleration in new]
    if any(same(toleration) not in kept for toleration in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", detail)]
    return validate_tolerations(new, "spec.tolerations")


def _validate_gates(new: list[Object], old: list[Object]) -> list[FieldError]:
    known = {gate.get("name") for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{i}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for i, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _validate_rest(spec: Object, former: Object) -> list[FieldError]:
    """With all that may change put back, nothing has changed."""
    munged = copy.deepcopy(spec)
    for field in ("containers", "initContainers"):
        for container, was in zip(munged.get(field) or (), former.get(field) or (), strict=True):
            container["image"] = was.get("image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(munged, former, field)
    if former.get("terminationGracePeriodSeconds", 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        _put_back(munged, former, "terminationGracePeriodSeconds")
    errors: list[FieldError] = []
    if former.get("schedulingGates"):
        errors += _narrow(munged, former)
    if munged != former:
        detail = f"pod updates may not change fields other than {_UPDATABLE}\n{shown_difference(former, munged)}"
        errors.append(forbidden("spec", detail))
    return errors


def _put_back(munged: Object, former: Object, field: str) -> None:
    if field in former:
        munged[field] = former[field]
    else:
        munged.pop(field, None)


def _narrow(munged: Object, former: Object) -> list[FieldError]:
    """A pod that is not yet to be scheduled may be given less choice of nodes."""
    errors: list[FieldError] = []
    selector, had = munged.get("nodeSelector") or {}, former.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in had.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", munged.get("nodeSelector"), detail))
    _put_back(munged, former, "nodeSelector")
    wanted = (munged.get("affinity") or {}).get("nodeAffinity")
    before = (former.get("affinity") or {}).get("nodeAffinity")
    if wanted == before:
        return errors
    errors += _validate_narrower(wanted or {}, before or {})
    affinity = munged.get("affinity")
    if affinity is None:
        munged["affinity"] = {"nodeAffinity": before}
    elif former.get("affinity") is None and not (affinity.get("podAffinity") or affinity.get("podAntiAffinity")):
        del munged["affinity"]
    elif before is not None:
        affinity["nodeAffinity"] = before
    else:
        affinity.pop("nodeAffinity", None)
    return errors


def _validate_narrower(new: Object, old: Object) -> list[FieldError]:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms: list[Any] = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    wanted: list[Any] = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not terms:
        return []
    if len(terms) != len(wanted):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, wanted or None, detail)]
    return [
        invalid(f"{path}[{i}]", now, "only additions are allowed (no mutations or deletions)")
        for i, (now, was) in enumerate(zip(wanted, terms, strict=True))
        if not _adds_only(now, was)
    ]


def _adds_only(new: Object, old: Object) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old.get(kind) for kind in kinds):
        return not any(new.get(kind) for kind in kinds)
    return all((new.get(kind) or [])[: len(old.get(kind) or [])] == (old.get(kind) or []) for kind in kinds)


def shown_difference(old: Object, new: Object) -> str:
    """What differs, as the body of a unified diff."""
    import difflib  # few updates are refused

    before, after = (json.dumps(o, indent=1, sort_keys=True).splitlines() for o in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    return "\n".join([*lines, ""])


def validate_ephemeral_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """Ephemeral containers are only ever added."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods do not support ephemeral containers")]
    path = "spec.ephemeralContainers"
    errors = validate_pod(call, new, old["spec"])
    wanted = {c.get("name"): c for c in new["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in wanted:
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif container != wanted[name]:
            shown = shown_difference(container, wanted[name])
            errors.append(forbidden(path, f'existing ephemeral containers "{name}" may not be changed\n{shown}'))
    return errors
