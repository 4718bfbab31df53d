"""The SubjectAccessReview that a webhook is sent: a question about a request, in either version."""

from __future__ import annotations

from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.selectors import InvalidSelector, parse_field_selector, parse_label_selector
from kapi.api.user import User

GROUP = "authorization.k8s.io"
_LABEL_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


def review_spec(user: User, attributes: RequestInfo) -> Object:
    """In version v1; what is empty is left out."""
    spec: Object = {}
    if attributes.is_resource_request:
        spec["resourceAttributes"] = _resource(attributes)
    else:
        spec["nonResourceAttributes"] = _given(path=attributes.path, verb=attributes.verb)
    groups, extra = list(user.groups), {key: list(values) for key, values in user.extra.items()}
    return spec | _given(user=user.name, groups=groups, extra=extra, uid=user.uid)


def in_version(spec: Object, version: str) -> Object:
    """The review itself. In v1beta1 the groups have another name."""
    if version == "v1beta1" and "groups" in spec:
        spec = {("group" if key == "groups" else key): value for key, value in spec.items()}
    return {
        "kind": "SubjectAccessReview",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": False},
    }


def _resource(attributes: RequestInfo) -> Object:
    given = _given(
        namespace=attributes.namespace,
        verb=attributes.verb,
        group=attributes.api_group,
        version=attributes.api_version,
        resource=attributes.resource,
        subresource=attributes.subresource,
        name=attributes.name or attributes.selected_name,
    )
    fields, labels = _field_requirements(attributes), _label_requirements(attributes)
    if fields:
        given["fieldSelector"] = {"requirements": fields}
    if labels:
        given["labelSelector"] = {"requirements": labels}
    return given


def _field_requirements(attributes: RequestInfo) -> list[Object]:
    """None when the selector cannot be read: requirements only narrow, so the question becomes a broader one."""
    if not attributes.field_selector:
        return []
    try:
        requirements = parse_field_selector(attributes.field_selector).requirements
    except InvalidSelector:
        return []
    return [
        {"key": r.field, "operator": "In" if r.operator == "=" else "NotIn", "values": [r.value]} for r in requirements
    ]


def _label_requirements(attributes: RequestInfo) -> list[Object]:
    if not attributes.label_selector:
        return []
    try:
        requirements = parse_label_selector(attributes.label_selector).requirements
    except InvalidSelector:
        return []
    return [
        {"key": r.key, "operator": _LABEL_OPERATORS[r.operator], **({"values": list(r.values)} if r.values else {})}
        for r in requirements
        if r.operator in _LABEL_OPERATORS
    ]


def _given(**fields: object) -> Object:
    return {key: value for key, value in fields.items() if value}
