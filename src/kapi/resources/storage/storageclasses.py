"""StorageClasses: kinds of storage that claims can ask for, and who provides them."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.node_labels import deprecation
from kapi.resources.storage.parameters import validate_driver, validate_parameters

_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default(new: Object) -> None:
    new.setdefault("reclaimPolicy", "Delete")
    new.setdefault("volumeBindingMode", "Immediate")


def validate(_: Call, new: Object) -> list[FieldError]:
    provisioner, policy, mode = new.get("provisioner", ""), new.get("reclaimPolicy"), new.get("volumeBindingMode")
    errors = validate_driver(provisioner, "provisioner")
    errors += validate_parameters(new.get("parameters") or {}, "parameters")
    if policy and policy not in _POLICIES:
        errors.append(not_supported("reclaimPolicy", policy, _POLICIES))
    if mode not in _BINDING_MODES:
        errors.append(not_supported("volumeBindingMode", mode, _BINDING_MODES))
    errors += _validate_topologies(new.get("allowedTopologies") or [])
    # As upstream's declared rules: what is missing is reported last.
    return errors if provisioner else [*errors, required("provisioner")]


def _validate_topologies(topologies: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    # As upstream, which starts with as many empty terms as there are: an empty one is never the first.
    seen: list[dict[str, set[str]]] = [{}]
    for i, term in enumerate(topologies):
        path = f"allowedTopologies[{i}].matchLabelExpressions"
        values: dict[str, set[str]] = {}
        for j, expression in enumerate(term.get("matchLabelExpressions") or []):
            errors += _validate_expression(expression, f"{path}[{j}]")
            if expression.get("key", "") in values:
                errors.append(duplicate(f"{path}[{j}].key", expression.get("key", "")))
            values[expression.get("key", "")] = set(expression.get("values") or ())
        if values in seen:
            errors.append(duplicate(path, ""))
        seen.append(values)
    return errors


def _validate_expression(expression: Object, path: str) -> list[FieldError]:
    values, key = expression.get("values") or [], expression.get("key", "")
    errors = [] if values else [required(f"{path}.values")]
    errors += [duplicate(f"{path}.values[{k}]", value) for k, value in enumerate(values) if value in values[:k]]
    return errors + [invalid(f"{path}.key", key, e) for e in label_key(key)]


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    for field in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"):
        if new.get(field) != old.get(field):
            errors.append(invalid(field, None, "field is immutable"))
    return errors


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    found = []
    for i, term in enumerate(new.get("allowedTopologies") or []):
        for j, expression in enumerate(term.get("matchLabelExpressions") or []):
            why = deprecation(expression.get("key", ""))
            if why:
                found.append(f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {why}")
    return found


def default_of(classes: Sequence[Object]) -> int | None:
    """The youngest of those that are marked; of several, the first by name."""
    marked = [i for i, each in enumerate(classes) if _is_marked(each["metadata"].get("annotations") or {})]
    if not marked:
        return None
    youngest = max(classes[i]["metadata"]["creationTimestamp"] for i in marked)
    rivals = [i for i in marked if classes[i]["metadata"]["creationTimestamp"] == youngest]
    return min(rivals, key=lambda i: classes[i]["metadata"]["name"])


def _is_marked(annotations: dict[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _MARKS)


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    strategy=Strategy(default=default, validate=validate, validate_update=validate_update, warnings=warnings),
    columns=(
        NAME,
        Column("Provisioner", field_value("provisioner")),
        Column("ReclaimPolicy", field_value("reclaimPolicy", absent="Delete")),
        Column("VolumeBindingMode", field_value("volumeBindingMode", absent="Immediate")),
        Column("AllowVolumeExpansion", field_value("allowVolumeExpansion", absent=False)),
        AGE,
    ),
    default_of=default_of,
    returns_deleted=True,
)
