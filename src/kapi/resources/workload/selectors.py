"""Selectors of pods: what they must be, and that they select the pods of the template."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object, validate_label_selector
from kapi.resources.podspec.validation import validate_pod_template
from kapi.resources.workload.rules import IMMUTABLE

MISMATCH = "`selector` does not match template `labels`"


def labels_of(template: Object) -> dict[str, str] | None:
    labels: dict[str, str] | None = (template.get("metadata") or {}).get("labels")
    return labels


def shown_labels(template: Object) -> dict[str, str] | None:
    """As a message shows them: maps are written by key."""
    labels = labels_of(template)
    return labels and dict(sorted(labels.items()))


def shown_selector(selector: Object | None) -> Object | None:
    """As a message shows it: fields as Go has them, maps by key."""
    if not selector:
        return selector
    shown: Object = {}
    if "matchLabels" in selector:
        shown["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if "matchExpressions" in selector:
        shown["matchExpressions"] = [
            {name: term[name] for name in ("key", "operator", "values") if name in term}
            for term in selector["matchExpressions"]
        ]
    return shown


def fixed_selector(spec: Object, former: Object) -> list[FieldError]:
    if spec.get("selector") == former.get("selector"):
        return []
    return [invalid("spec.selector", shown_selector(spec.get("selector")), IMMUTABLE)]


def selects(selector: Object | None, labels: dict[str, str] | None) -> bool:
    """No selector selects nothing, an empty one everything. It has been found valid."""
    return selector is not None and selector_from_object(selector).matches(labels or {})


def is_empty(selector: Object) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def validate_selected_template(
    call: Call, spec: Object, old: Object | None, kind: str, *, empty: str, unusable: str
) -> list[FieldError]:
    """The selector of a spec, which is required, and its template; `empty` and `unusable` say what is wrong with it."""
    selector: Object | None = spec.get("selector")
    if selector is None:
        found = [required("spec.selector")]
        usable = True
    else:
        found = validate_label_selector(selector, "spec.selector")
        usable = not found
        if is_empty(selector):
            found.append(invalid("spec.selector", selector, empty))
    if not usable:
        return [*found, invalid("spec.selector", shown_selector(selector), unusable)]
    template = spec.get("template") or {}
    former = old.get("template") if old is not None else None
    return found + validate_matching_template(call, template, selector, former) + always_restarting(template, kind)


def validate_matching_template(
    call: Call, template: Object, selector: Object | None, old: Object | None
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not selects(selector, labels_of(template)):
        errors.append(invalid("spec.template.metadata.labels", shown_labels(template), MISMATCH))
    return errors + validate_pod_template(call, template, "spec.template", old)


def always_restarting(template: Object, kind: str) -> list[FieldError]:
    """Pods of a controller that keeps them running restart, and have no deadline."""
    errors: list[FieldError] = []
    pod = template.get("spec") or {}
    if pod.get("restartPolicy") != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy", ""), ["Always"]))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))
    return errors
