"""The attributes of an access review: checked, and as an authorizer is asked about them.

Every kind of review carries the same ones, and a selector that cannot be read does not keep a review from its answer.
"""

from __future__ import annotations

from contextlib import suppress

from kapi.api import errors
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.fields import FieldError, forbidden, invalid, required
from kapi.api.gvk import GroupKind
from kapi.api.names import label_key, label_value
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.selectors import (
    FieldRequirement,
    FieldSelector,
    InvalidSelector,
    new_requirement,
    parse_field_selector,
    parse_label_selector,
)
from kapi.api.user import User

GROUP = "authorization.k8s.io"
_OPERATORS = {"DoesNotExist": "!", "Exists": "exists", "In": "in", "NotIn": "notin"}
_FIELD_OPERATORS = {"In": "=", "NotIn": "!="}
# In the order of upstream's struct, which is how a refusal shows it.
_METADATA = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "labels", "annotations"),
    *("ownerReferences", "finalizers", "managedFields"),
)
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


def refuse(found: list[FieldError]) -> None:
    """As upstream: the kind is not told."""
    if found:
        raise errors.Invalid(GroupKind(GROUP, ""), "", found)


def validate_own_attributes(spec: Object) -> list[FieldError]:
    """Those of whoever asks."""
    return _validate_one_of(spec) + _validate_resource(spec.get("resourceAttributes"))


def validate_attributes(spec: Object) -> list[FieldError]:
    """Those of somebody, who must be named."""
    found = _validate_one_of(spec)
    if not spec.get("user") and not spec.get("groups"):
        found.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    return found + _validate_resource(spec.get("resourceAttributes"))


def _validate_one_of(spec: Object) -> list[FieldError]:
    path = spec.get("nonResourceAttributes")
    if (spec.get("resourceAttributes") is None) != (path is None):
        return []
    return [invalid("spec", None if path is None else _go_path(path), _ONE_OF)]


def validate_metadata(review: Object, *, namespaced: bool) -> list[FieldError]:
    """A review has no name and no labels: it is not stored."""
    allowed = ("managedFields", "namespace") if namespaced else ("managedFields",)
    given = {field: value for field, value in review["metadata"].items() if value}
    if all(field in allowed for field in given):
        return []
    shown = {field: given[field] for field in _METADATA if field in given}
    return [invalid("metadata", shown, "must be empty except for namespace" if namespaced else "must be empty")]


def _validate_resource(attributes: Object | None) -> list[FieldError]:
    found: list[FieldError] = []
    for kind in ("fieldSelector", "labelSelector"):
        selector = (attributes or {}).get(kind)
        if selector is not None:
            found += _validate_selector(selector, f"spec.resourceAttributes.{kind}", labels=kind == "labelSelector")
    return found


def _validate_selector(selector: Object, path: str, *, labels: bool) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
    found: list[FieldError] = []
    if raw and requirements:
        found.append(invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements"))
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        found.append(required(f"{path}.requirements", why))
    for i, requirement in enumerate(requirements):
        found += _validate_requirement(requirement, f"{path}.requirements[{i}]", labels=labels)
    return found


def _validate_requirement(requirement: Object, path: str, *, labels: bool) -> list[FieldError]:
    found: list[FieldError] = []
    key, operator, values = (requirement.get(f) for f in ("key", "operator", "values"))
    if not labels and not key:
        found.append(required(f"{path}.key", "must be specified"))
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        found.append(forbidden(f"{path}.values", why))
    if labels:
        found += [invalid(f"{path}.key", key or "", problem) for problem in label_key(key or "")]
        for i, value in enumerate(values or ()):
            found += [invalid(f"{path}.values[{i}]", value, problem) for problem in label_value(value)]
    return found


def not_here(path: Object) -> FieldError:
    return invalid("spec.nonResourceAttributes", _go_path(path), "disallowed on this kind of request")


def _go_path(path: Object) -> Object:
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


async def decide(authorizer: Authorizer, user: User, spec: Object) -> Object:
    """The review's status."""
    problems: list[str] = []
    verdict = await authorizer.authorize(user, _request_info(spec, problems))
    status: Object = {"allowed": verdict.decision is Decision.ALLOW}
    if verdict.decision is Decision.DENY:
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    if verdict.error or problems:
        status["evaluationError"] = "; ".join([verdict.error, *problems] if verdict.error else problems)
    return status


def _request_info(spec: Object, problems: list[str]) -> RequestInfo:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec["nonResourceAttributes"]
        return RequestInfo(path.get("path", ""), path.get("verb", ""))
    info = RequestInfo("", asked.get("verb", ""))
    info.is_resource_request = True
    info.api_group, info.api_version = asked.get("group", ""), asked.get("version") or "*"
    info.namespace, info.name = asked.get("namespace", ""), asked.get("name", "")
    info.resource, info.subresource = asked.get("resource", ""), asked.get("subresource", "")
    info.field_selector = _field_selector(asked.get("fieldSelector") or {}, problems)
    info.label_selector = _label_selector(asked.get("labelSelector") or {}, problems)
    return info


def _field_selector(selector: Object, problems: list[str]) -> str:
    """As text. What cannot be read is left out: requirements only narrow, so the question becomes a broader one."""
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    if raw:
        try:
            return str(parse_field_selector(raw))
        except InvalidSelector:
            problems.append(_ignored("fieldSelector", partially=False))
            return ""
    read = [
        FieldRequirement(r["key"], _FIELD_OPERATORS[r["operator"]], r["values"][0])
        for r in requirements
        if r["operator"] in _FIELD_OPERATORS and len(r["values"]) == 1
    ]
    if len(read) < len(requirements):
        problems.append(_ignored("fieldSelector", partially=bool(read)))
    return str(FieldSelector(read))


def _label_selector(selector: Object, problems: list[str]) -> str:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    read = []
    try:
        if raw:
            return ",".join(map(str, parse_label_selector(raw).requirements))
    except InvalidSelector:
        problems.append(_ignored("labelSelector", partially=False))
        return ""
    for r in requirements:
        with suppress(InvalidSelector, KeyError):
            read.append(new_requirement(r["key"], _OPERATORS[r["operator"]], r.get("values") or []))
    if len(read) < len(requirements):
        problems.append(_ignored("labelSelector", partially=bool(read)))
    return ",".join(map(str, read))


def _ignored(selector: str, *, partially: bool) -> str:
    return f"spec.resourceAttributes.{selector} {'partially ' if partially else ''}ignored due to parse error"
