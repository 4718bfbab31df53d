"""Validation of definitions, in upstream's words and in its order.

Upstream moves what all versions have in common to the top of the spec before it looks; its paths tell so. Hence the
`spec.validation.openAPIV3Schema` of a definition whose versions share one schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, go_struct, invalid, not_supported, required
from kapi.api.names import dns_1035_label, dns_subdomain
from kapi.api.objects import Object
from kapi.apiextensions.approval import validate_approval
from kapi.apiextensions.conversion_rules import validate_conversion
from kapi.apiextensions.default_rules import judge_defaults, validate_defaults
from kapi.apiextensions.definition import is_true
from kapi.apiextensions.rules import validate_rules
from kapi.apiextensions.schema_rules import validate_schema
from kapi.apiextensions.structure import unsupported, validate_structure
from kapi.apiextensions.version_rules import (
    validate_columns,
    validate_deprecation,
    validate_selectable,
    validate_subresources,
)

_MIXED_CASE = "may have mixed case, but should otherwise match: "
_ROOT_FIELDS = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_ROOT_KEYS = frozenset(
    {name[:1].lower() + name[1:] for name in _ROOT_FIELDS.split(" ")}
    | {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"}
)


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate_spec(new, None) + _validate_rest(new, None)


def validate_name_of(new: Object) -> Callable[[str], list[str]]:
    """A definition is named after what it defines."""
    spec = new["spec"]
    wanted = f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"

    def problems(name: str) -> list[str]:
        return dns_subdomain(name) + ([] if name == wanted else ['must be spec.names.plural+"."+spec.group'])

    return problems


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    errors = _validate_spec(new, old)
    before, after = old["spec"], new["spec"]
    fixed = [("group",), ("names", "plural")]
    if is_true(old, "Established"):
        fixed = [("scope",), ("names", "kind"), *fixed]
    for path in fixed:
        value, former = _at(after, path), _at(before, path)
        if value != former:
            errors.append(invalid(f"spec.{'.'.join(path)}", value, "field is immutable"))
    return errors + _validate_rest(new, old)


def validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    return _validate_names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _at(spec: Object, path: tuple[str, ...]) -> Any:
    value: Any = spec
    for part in path:
        value = value.get(part, "")
    return value


def _validate_rest(new: Object, old: Object | None) -> list[FieldError]:
    status, spec = new.get("status") or {}, new["spec"]
    errors = _validate_names(status.get("acceptedNames") or {}, "status.acceptedNames")
    errors += _validate_stored_versions(status.get("storedVersions"), spec.get("versions") or [])
    errors += validate_approval(new, old)
    if spec.get("preserveUnknownFields") and not (old and old["spec"].get("preserveUnknownFields")):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, why))
    return errors


def _validate_stored_versions(stored: list[str] | None, versions: list[Object]) -> list[FieldError]:
    path = "status.storedVersions"
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    errors: list[FieldError] = []
    missing = dict.fromkeys(stored)
    for version in versions:
        if version.get("storage") and version["name"] not in missing:
            errors.append(invalid(path, stored, f"must have the storage version {version['name']}"))
        missing.pop(version["name"], None)
    for i, name in enumerate(stored):
        if name in missing:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(invalid(f"{path}[{i}]", name, why))
    return errors


@dataclass(slots=True)
class _Spec:
    """A spec as upstream sees it: what all versions share is at the top."""

    versions: list[Object]
    shared: Object
    is_given: bool  # an empty list of versions is not the same as none

    @classmethod
    def of(cls, spec: Object) -> _Spec:
        given: list[Object] | None = spec.get("versions")
        versions = given or []
        shared: Object = {}
        for key in ("schema", "subresources", "additionalPrinterColumns", "selectableFields"):
            values = [v.get(key) for v in versions]
            if values and values[0] and all(value == values[0] for value in values):
                shared[key] = values[0]
        rest = [{k: x for k, x in v.items() if k not in shared} for v in versions]
        return cls(rest, shared, is_given=given is not None)

    def has_status(self, version: Object) -> bool:
        found = self.shared.get("subresources") or version.get("subresources") or {}
        return found.get("status") is not None

    def has_any_status(self) -> bool:
        return self.has_status({}) or any(self.has_status(v) for v in self.versions)

    @property
    def shown(self) -> Any:
        """The versions by Go's field names."""
        fields = ("deprecationWarning", "schema", "subresources", "additionalPrinterColumns", "selectableFields")
        return [
            {
                "Name": v.get("name", ""),
                "Served": v.get("served", False),
                "Storage": v.get("storage", False),
                "Deprecated": v.get("deprecated", False),
                **{f[:1].upper() + f[1:]: go_struct(v.get(f)) for f in fields},
            }
            for v in self.versions
        ] or ([] if self.is_given else None)


def _validate_spec(new: Object, old: Object | None) -> list[FieldError]:
    spec = new["spec"]
    form = _Spec.of(spec)
    unchanged = _unchanged_versions(spec, old)
    errors = [*_validate_group(spec.get("group", "")), *_validate_scope(spec.get("scope", ""))]
    if (form.shared.get("schema") or {}).get("openAPIV3Schema") is None:
        errors += [
            required(f"spec.versions[{i}].schema.openAPIV3Schema")
            for i, v in enumerate(form.versions)
            if (v.get("schema") or {}).get("openAPIV3Schema") is None
        ]
    for i, version in enumerate(form.versions):
        errors += _validate_version(version, f"spec.versions[{i}]", form, unchanged)
    errors += _validate_version_set(form)
    names = spec.get("names") or {}
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            errors.append(required(f"spec.names.{field}"))
    errors += _validate_names(names, "spec.names")
    errors += _validate_shared(form, unchanged)
    established = old is not None and is_true(old, "Established")
    former = (old["spec"].get("conversion") or {}) if old is not None else None
    return errors + validate_conversion(spec.get("conversion"), former, established=established)


def _unchanged_versions(spec: Object, old: Object | None) -> frozenset[str]:
    """The versions whose schema was accepted before: their rules are not judged again by cost."""
    if old is None:
        return frozenset()
    former = {v["name"]: v.get("schema") for v in old["spec"].get("versions") or ()}
    return frozenset(v["name"] for v in spec.get("versions") or () if former.get(v["name"]) == v.get("schema"))


def _validate_group(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif errors := dns_subdomain(group):
        yield invalid("spec.group", group, ",".join(errors))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _validate_scope(scope: str) -> Iterator[FieldError]:
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"), in_order=True)


def _validate_version(version: Object, path: str, form: _Spec, unchanged: frozenset[str]) -> list[FieldError]:
    name = version.get("name", "")
    errors: list[FieldError] = []
    if problems := dns_1035_label(name):
        errors.append(invalid(f"{path}.name", name, ",".join(problems)))
    errors += validate_deprecation(version, path)
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        at = f"{path}.schema.openAPIV3Schema"
        errors += _validate_schema(schema, at, has_status=form.has_status(version), costs=name not in unchanged)
    errors += validate_subresources(version.get("subresources"), f"{path}.subresources")
    errors += validate_columns(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
    # As upstream: fields of one version alone need a schema of that version alone.
    errors += validate_selectable(version.get("selectableFields"), schema, f"{path}.selectableFields")
    return errors


def _validate_version_set(form: _Spec) -> Iterator[FieldError]:
    names = [v.get("name", "") for v in form.versions]
    if len(set(names)) != len(names):
        yield invalid("spec.versions", form.shown, "must contain unique version names")
    if sum(bool(v.get("storage")) for v in form.versions) != 1:
        yield invalid("spec.versions", form.shown, "must have exactly one version marked as storage version")
    if names and names[0] and (problems := dns_1035_label(names[0])):
        # As upstream, which keeps the first version's name in a field of its own.
        yield invalid("spec.version", names[0], ",".join(problems))


def _validate_shared(form: _Spec, unchanged: frozenset[str]) -> list[FieldError]:
    shared = form.shared
    errors: list[FieldError] = []
    schema = (shared.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        path = "spec.validation.openAPIV3Schema"
        costs = not form.versions or form.versions[0].get("name") not in unchanged
        errors += _validate_schema(schema, path, has_status=form.has_any_status(), costs=costs)
    errors += validate_subresources(shared.get("subresources"), "spec.subresources")
    errors += validate_columns(shared.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    errors += validate_selectable(shared.get("selectableFields"), schema, "spec.selectableFields")
    return errors


def _validate_schema(schema: Object, path: str, *, has_status: bool, costs: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if has_status and not schema.keys() <= _ROOT_KEYS:
        shown = _ROOT_FIELDS
        why = f"only [{shown}] fields are allowed at the root of the schema if the status subresource is enabled"
        errors.append(invalid(path, go_struct(schema), why))
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    why = unsupported(schema)
    structural = [] if why else validate_structure(schema, path) or validate_defaults(schema, path)
    errors += structural
    form = validate_schema(schema, path)
    errors += form
    if not why and not structural and not form:
        errors += validate_rules(schema, path, costs=costs) or judge_defaults(schema, path)
    if not errors and why:
        errors.append(invalid(path, "", why))
    return errors


def _validate_names(names: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("plural", "singular"):
        value = names.get(field, "")
        if value and (problems := dns_1035_label(value)):
            errors.append(invalid(f"{path}.{field}", value, ",".join(problems)))
    for field in ("kind", "listKind"):
        value = names.get(field, "")
        if value and (problems := dns_1035_label(value.lower())):
            errors.append(invalid(f"{path}.{field}", value, _MIXED_CASE + ",".join(problems)))
    errors += _validate_labels(names.get("shortNames") or [], f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors + _validate_labels(names.get("categories") or [], f"{path}.categories")


def _validate_labels(values: list[str], path: str) -> list[FieldError]:
    return [
        invalid(f"{path}[{i}]", value, ",".join(problems))
        for i, value in enumerate(values)
        if (problems := dns_1035_label(value))
    ]
