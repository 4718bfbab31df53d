"""RuntimeClasses: ways to run containers, which nodes can, and what it costs."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, go_struct, invalid, required
from kapi.api.names import dns_label, short_name, validate_labels
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
    errors = _validate_pods(new)
    # As upstream's declared rules, which come last.
    handler = new.get("handler", "")
    if not handler:
        return [*errors, required("handler")]
    return errors + [invalid("handler", handler, e) for e in short_name(handler)]


def _validate_pods(new: Object) -> list[FieldError]:
    """What pods of this class cost, and where they run."""
    errors: list[FieldError] = []
    overhead, scheduling = new.get("overhead"), new.get("scheduling")
    if overhead is not None:
        errors += validate_requirements({"limits": overhead.get("podFixed") or {}}, frozenset(), "overhead")
    if scheduling is not None:
        errors += validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
        errors += _validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")
    return errors


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
    handler = new.get("handler", "")
    if handler == old.get("handler"):
        return _validate_pods(new)
    # As upstream: declared rules stop at a handler that changes, so that code still says what else is wrong with it.
    errors = [invalid("handler", handler, e) for e in dns_label(handler)] if handler else []
    errors += [*_validate_pods(new), invalid("handler", None, "field is immutable")]
    return errors if handler else [*errors, required("handler")]


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
