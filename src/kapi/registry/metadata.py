"""What every object's metadata must satisfy, on create and on update."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapi.api.fields import FieldError, forbidden, go_value, invalid, required
from kapi.api.gvk import GroupVersion
from kapi.api.names import dns_label, label_key, validate_annotations, validate_labels
from kapi.api.objects import Object

STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
_IMMUTABLE = "field is immutable"
_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_object_meta(
    metadata: Object,
    *,
    namespaced: bool,
    validate_name: Callable[[str], list[str]],
    path: str = "metadata",
    any_finalizer: bool = False,
) -> list[FieldError]:
    errors: list[FieldError] = []
    generate_name = metadata.get("generateName")
    if generate_name:
        # As names are generated: the prefix must make a valid name once something follows a final dash.
        errors += [
            invalid(f"{path}.generateName", generate_name, e) for e in validate_name(_mask_trailing_dash(generate_name))
        ]
    name = metadata.get("name")
    if not name:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    else:
        errors += [invalid(f"{path}.name", name, e) for e in validate_name(name)]
    errors += _validate_namespace(metadata.get("namespace"), namespaced=namespaced, path=f"{path}.namespace")
    if metadata.get("generation", 0) < 0:
        errors.append(invalid(f"{path}.generation", metadata["generation"], "must be greater than or equal to 0"))
    errors += validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    errors += validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    errors += _validate_owner_references(metadata.get("ownerReferences") or [], f"{path}.ownerReferences")
    errors += validate_finalizers(metadata.get("finalizers") or [], f"{path}.finalizers", qualified=not any_finalizer)
    return errors


def _mask_trailing_dash(name: str) -> str:
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def _validate_namespace(namespace: str | None, *, namespaced: bool, path: str) -> list[FieldError]:
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path)]
    return [invalid(path, namespace, e) for e in dns_label(namespace)]


def _validate_owner_references(references: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller: str | None = None
    for i, reference in enumerate(references):
        at = f"{path}[{i}]"
        errors += _validate_owner_reference(reference, at)
        if reference.get("controller"):
            if controller is not None:
                text = (
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {controller} and {reference.get("kind", "")}/{reference.get("name", "")}'
                )
                errors.append(invalid(path, references, text))
            else:
                controller = f"{reference.get('kind', '')}/{reference.get('name', '')}"
    return errors


def _validate_owner_reference(reference: Object, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = reference.get("apiVersion", "")
    version = GroupVersion("", "")
    try:
        version = GroupVersion.parse(api_version)
    except ValueError:
        errors.append(invalid(f"{at}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    if not errors and not version.version:
        errors.append(required(f"{at}.apiVersion", "must not be empty"))
    errors += [
        required(f"{at}.{field}", "must not be empty") for field in ("kind", "name", "uid") if not reference.get(field)
    ]
    if version == ("", "v1") and reference.get("kind") == "Event":
        errors.append(invalid(at, reference, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def validate_finalizers(finalizers: list[str], path: str, *, qualified: bool = True) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in finalizers:
        errors += [invalid(path, name, e) for e in label_key(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, finalizers, text))
    return errors + _unqualified(finalizers, path) if qualified else errors


def _unqualified(finalizers: list[str], path: str) -> list[FieldError]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{path}[{i}]", name, text)
        for i, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def validate_object_meta_update(
    new: Object, old: Object, path: str = "metadata", *, any_finalizer: bool = False
) -> list[FieldError]:
    """`new` has been given what a client may leave out. As upstream: what is there comes before what changes."""
    errors = _validate_mutable(new, path)
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            shown = ", ".join(go_value(name) for name in added)
            errors.append(
                forbidden(
                    f"{path}.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{shown}}}",
                )
            )
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(invalid(f"{path}.generation", new.get("generation", 0), "must not be decremented"))
    errors += [
        invalid(f"{path}.{field}", new.get(field), _IMMUTABLE)
        for field in (
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        )
        if new.get(field) != old.get(field)
    ]
    return errors if any_finalizer else errors + _unqualified(new.get("finalizers") or [], f"{path}.finalizers")


def _validate_mutable(metadata: Mapping[str, object], path: str) -> list[FieldError]:
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    owners, finalizers = metadata.get("ownerReferences"), metadata.get("finalizers")
    return [
        *validate_labels(labels if isinstance(labels, dict) else {}, f"{path}.labels"),
        *validate_annotations(annotations if isinstance(annotations, dict) else {}, f"{path}.annotations"),
        *_validate_owner_references(owners if isinstance(owners, list) else [], f"{path}.ownerReferences"),
        *validate_finalizers(finalizers if isinstance(finalizers, list) else [], f"{path}.finalizers", qualified=False),
    ]
