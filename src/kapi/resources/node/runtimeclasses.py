"""RuntimeClasses: ways to run containers, which nodes can, and what it costs."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, go_struct, invalid, required
from kapi.api.names import short_name, validate_labels
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.node_labels import deprecation
from kapi.resources.podspec.defaults import round_resources
from kapi.resources.podspec.resources import validate_requirements
from kapi.resources.podspec.scheduling import validate_tolerations

_SECONDS = "tolerationSeconds"
_TOLERATION_KEYS = ("key", "operator", "value", "effect")


def default(new: Object) -> None:
    round_resources((new.get("overhead") or {}).get("podFixed"))


def validate(_: Call, new: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    overhead, scheduling = new.get("overhead"), new.get("scheduling")
    if overhead is not None:
        errors += validate_requirements({"limits": overhead.get("podFixed") or {}}, frozenset(), "overhead")
    if scheduling is not None:
        errors += validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
        errors += _validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")
    handler = new.get("handler", "")
    # As upstream's declared rules, which come last.
    return errors + (
        [invalid("handler", handler, e) for e in short_name(handler)] if handler else [required("handler")]
    )


def _validate_tolerations(tolerations: list[Object], path: str) -> list[FieldError]:
    errors = validate_tolerations(tolerations, path)
    seen: set[tuple[str, ...]] = set()
    for i, toleration in enumerate(tolerations):
        key = tuple(toleration.get(field, "") for field in _TOLERATION_KEYS)
        if key in seen:
            shown = dict(zip(_TOLERATION_KEYS, key, strict=True)) | {_SECONDS: toleration.get(_SECONDS)}
            errors.append(duplicate(f"{path}[{i}]", go_struct(shown)))
        seen.add(key)
    return errors


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    """Only the handler is looked at: upstream takes the rest as it comes."""
    return [] if new.get("handler") == old.get("handler") else [invalid("handler", None, "field is immutable")]


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    selector = (new.get("scheduling") or {}).get("nodeSelector") or {}
    return [f"scheduling.nodeSelector: {deprecation(label)}" for label in selector if deprecation(label)]


RESOURCE = Resource(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    strategy=Strategy(
        any_finalizer=True,
        default=default,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        create_on_update=True,
        unconditional_update=False,
    ),
    columns=(NAME, Column("Handler", field_value("handler")), AGE),
)
