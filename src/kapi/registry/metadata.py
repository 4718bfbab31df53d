"""What every object's metadata must satisfy, on create and on update."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kapi.api.fields import FieldError, forbidden, go_value, invalid, required
from kapi.api.gvk import GroupVersion
from kapi.api.names import dns_label, label_key, long_name, validate_annotations, validate_labels
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
    errors += _validate_mutable(metadata, path)
    if not any_finalizer:
        errors += _validate_qualified(metadata.get("finalizers") or [], f"{path}.finalizers")
    return errors


def declared_name(new: Object) -> list[FieldError]:
    """For kinds whose declared rules, not their code, ask for a subdomain: of names only, not of what precedes one."""
    name = new["metadata"].get("name")
    return [invalid("metadata.name", name, e) for e in long_name(name)] if name else []


def _mask_trailing_dash(name: str) -> str:
    # In bytes, as upstream: what is left of a longer character makes no valid name.
    return (name.encode()[:-2] + b"a").decode(errors="replace") if len(name) > 1 and name.endswith("-") else name


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
    api_version = reference.get("apiVersion") or ""
    version = GroupVersion("", "")
    with suppress(ValueError):
        version = GroupVersion.parse(api_version)
    if not api_version:
        errors.append(required(f"{at}.apiVersion", "must not be empty"))
    elif not version.version:
        errors.append(invalid(f"{at}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    errors += [
        required(f"{at}.{field}", "must not be empty") for field in ("kind", "name", "uid") if not reference.get(field)
    ]
    if version == ("", "v1") and reference.get("kind") == "Event":
        errors.append(invalid(at, reference, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _validate_finalizers(finalizers: list[str], path: str) -> list[FieldError]:
    errors = [invalid(path, name, e) for name in finalizers for e in label_key(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, finalizers, text))
    return errors


def _validate_qualified(finalizers: list[str], path: str) -> list[FieldError]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{path}[{i}]", name, text)
        for i, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def validate_object_meta_update(
    new: Object, old: Object, path: str = "metadata", *, any_finalizer: bool = False
) -> list[FieldError]:
    """`new` has already been given what a client may leave out."""
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
        invalid(f"{path}.{field}", new.get(field), _IMMUTABLE) for field in _FIXED if new.get(field) != old.get(field)
    ]
    if not any_finalizer:
        errors += _validate_qualified(new.get("finalizers") or [], f"{path}.finalizers")
    return errors


def _validate_mutable(metadata: Object, path: str) -> list[FieldError]:
    """What may change in an object's life, and is looked at before all that may not."""
    return [
        *validate_labels(metadata.get("labels") or {}, f"{path}.labels"),
        *validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations"),
        *_validate_owner_references(metadata.get("ownerReferences") or [], f"{path}.ownerReferences"),
        *_validate_finalizers(metadata.get("finalizers") or [], f"{path}.finalizers"),
    ]
