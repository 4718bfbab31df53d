"""Annotations that mean something to pods: mirror pods, deletion cost, and profiles from before they had fields."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kapi.api.fields import FieldError, forbidden, invalid
from kapi.api.formats import validate_descending_path
from kapi.api.objects import Object
from kapi.resources.podspec.context import WINDOWS, containers_with_path
from kapi.resources.podspec.scheduling import validate_tolerations

MIRROR = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST = "localhost/"
_is_cost = re.compile(r"(?:0|-?[1-9][0-9]*)\Z", re.ASCII).match


def validate_pod_annotations(annotations: Mapping[str, str], spec: Object, path: str) -> list[FieldError]:
    if not annotations:
        return []
    errors: list[FieldError] = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], detail))
    if annotations.get(TOLERATIONS):
        errors += _validate_old_tolerations(annotations[TOLERATIONS], path)
    cost = annotations.get(DELETION_COST)
    if cost is not None and not (_is_cost(cost) and -(1 << 31) <= int(cost) < 1 << 31):
        errors.append(invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    if SECCOMP_POD in annotations:
        errors += _validate_seccomp(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}")
    for key, profile in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            errors += _validate_seccomp(profile, f"{path}.{key}")
    for key, profile in annotations.items():
        if key.startswith(APP_ARMOR):
            errors += _validate_app_armor(key, profile, spec, path)
    return errors


def _validate_old_tolerations(text: str, path: str) -> list[FieldError]:
    from kapi.codec import json  # hardly any pod has this annotation

    try:
        tolerations, _ = json.parse(text.encode())
    except json.JSONError as error:
        return [invalid(path, TOLERATIONS, str(error))]
    if not isinstance(tolerations, list) or not all(isinstance(t, dict) for t in tolerations):
        return [invalid(path, TOLERATIONS, "json: cannot unmarshal into Go value of type []v1.Toleration")]
    return validate_tolerations(tolerations, f"{path}.{TOLERATIONS}")


def _validate_seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith(_LOCALHOST):
        return validate_descending_path(profile.removeprefix(_LOCALHOST), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _validate_app_armor(key: str, profile: str, spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = key.removeprefix(APP_ARMOR)
    if all(container.get("name") != name for container, _ in containers_with_path(spec, "")):
        errors.append(invalid(f"{path}[{key}]", name, "container not found"))
    if profile and profile not in ("runtime/default", "unconfined") and not profile.startswith(_LOCALHOST):
        errors.append(invalid(f"{path}[{key}]", profile, f'invalid AppArmor profile name: "{profile}"'))
    return errors


def validate_profiles_match(annotations: Mapping[str, str], spec: Object, path: str) -> list[FieldError]:
    """A profile that is named by an annotation and by a field is the same one."""
    if not annotations:
        return []
    errors: list[FieldError] = []
    security = spec.get("securityContext") or {}
    seccomp, armor = security.get("seccompProfile"), security.get("appArmorProfile")
    if seccomp is not None and SECCOMP_POD in annotations:
        at = f"{path}.securityContext.seccompProfile"
        errors += _validate_match("seccomp", annotations[SECCOMP_POD], seccomp, at)
    for container, at in containers_with_path(spec, path):
        own = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(SECCOMP_CONTAINER + (container.get("name") or ""))
        if own is not None and annotation is not None:
            errors += _validate_match("seccomp", annotation, own, f"{at}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == WINDOWS:
        return errors
    for container, at in containers_with_path(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile") or armor
        annotation = annotations.get(APP_ARMOR + (container.get("name") or ""))
        if own is not None and annotation is not None:
            errors += _validate_match("apparmor", annotation, own, f"{at}.securityContext.appArmorProfile")
    return errors


def _validate_match(what: str, annotation: str, profile: Object, path: str) -> list[FieldError]:
    kind = profile.get("type")
    named = {"Unconfined": {"unconfined"}, "RuntimeDefault": {"runtime/default"}}
    if what == "seccomp":
        named["RuntimeDefault"].add("docker/default")
    if kind in named and annotation not in named[kind]:
        return [forbidden(f"{path}.type", f"{what} type in annotation and field must match")]
    if kind == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            return [forbidden(f"{path}.type", f"{what} type in annotation and field must match")]
        if annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
            return [forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")]
    return []


def app_armor_profile(annotation: str) -> Object | None:
    """The profile that an annotation means, as the field says it."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix(_LOCALHOST)
    if name == annotation or not name:
        return None
    return {"type": "Localhost", "localhostProfile": name}
