"""The approval of APIs in Kubernetes' own groups: an annotation with a link to the review, or the word `unapproved`."""

from __future__ import annotations

from urllib.parse import urlsplit

from kapi.api.fields import FieldError, go_quote, invalid, required
from kapi.api.objects import Object

ANNOTATION = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_CONDITIONS = {
    "invalid": ("False", "InvalidAnnotation"),
    "missing": ("False", "MissingAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
}


def is_protected(group: str) -> bool:
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def _state(obj: Object) -> tuple[str, str]:
    """The state of the approval, and why."""
    annotation = (obj["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    if not annotation:
        return "missing", f'protected groups must have approval annotation "{ANNOTATION}", {_SEE}'
    if annotation.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(annotation)}"
    try:
        url = urlsplit(annotation)
        if url.scheme and url.netloc:
            return "approved", f"approved in {annotation}"
    except ValueError:
        pass
    return "invalid", (
        f'protected groups must have approval annotation "{ANNOTATION}" with either a URL or a reason starting with '
        f'"unapproved", {_SEE}'
    )


def validate_approval(new: Object, old: Object | None) -> list[FieldError]:
    if not is_protected(new["spec"].get("group", "")):
        return []
    state, why = _state(new)
    if old is not None and _state(old)[0] == state:
        return []  # who only changes other things is not asked
    path = f"metadata.annotations[{ANNOTATION}]"
    if state == "missing":
        return [required(path, why)]
    return [invalid(path, new["metadata"]["annotations"][ANNOTATION], why)] if state == "invalid" else []


def approval_condition(obj: Object) -> tuple[str, str, str] | None:
    """Status, reason and message of the condition; None for groups that need no approval."""
    if not is_protected(obj["spec"]["group"]):
        return None
    state, why = _state(obj)
    return (*_CONDITIONS[state], why)
