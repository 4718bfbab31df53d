"""The authorizer: `authorizer.group('apps').resource('deployments').check('create').allowed()`.

Who answers is the caller's matter: it supplies a function that decides on an Access.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kapi.api import names
from kapi.cel import prices
from kapi.cel.functions import Library, Overload, method
from kapi.cel.types import BOOL, STRING, CelType, struct
from kapi.cel.values import EvaluationError

_PREFIX = "kubernetes.authorization."
AUTHORIZER = struct(f"{_PREFIX}Authorizer")
PATH_CHECK = struct(f"{_PREFIX}PathCheck")
GROUP_CHECK = struct(f"{_PREFIX}GroupCheck")
RESOURCE_CHECK = struct(f"{_PREFIX}ResourceCheck")
DECISION = struct(f"{_PREFIX}Decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A question: may this user do that? `service_account` replaces the user of the request."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer: allowed or not, why, and what went wrong in finding out."""

    allowed: bool
    reason: str = ""
    error: str | None = None

    @property
    def cel_type(self) -> CelType:
        return DECISION


Decide = Callable[[Access], Decision]


@dataclass(frozen=True, slots=True)
class Check:
    """A question in the making; `kind` says how far it has got."""

    kind: CelType
    decide: Decide
    access: Access

    @property
    def cel_type(self) -> CelType:
        return self.kind


def authorizer(decide: Decide) -> Check:
    """The value of the variable `authorizer`."""
    return Check(AUTHORIZER, decide, Access())


def resource_authorizer(decide: Decide, access: Access) -> Check:
    """The value of `authorizer.requestResource`: a check of what the request is about."""
    return Check(RESOURCE_CHECK, decide, access)


def _path(check: Check, path: str) -> Check:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return Check(PATH_CHECK, check.decide, replace(check.access, path=path))


def _group(check: Check, group: str) -> Check:
    return Check(GROUP_CHECK, check.decide, replace(check.access, group=group))


def _service_account(check: Check, namespace: str, name: str) -> Check:
    if names.dns_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if names.dns_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return Check(AUTHORIZER, check.decide, replace(check.access, service_account=(namespace, name)))


def _resource(check: Check, resource: str) -> Check:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return Check(RESOURCE_CHECK, check.decide, replace(check.access, resource=resource))


def _setter(field: str) -> Callable[[Check, str], Check]:
    def run(check: Check, value: str) -> Check:
        changes: dict[str, Any] = {field: value}
        return Check(RESOURCE_CHECK, check.decide, replace(check.access, **changes))

    return run


def _check(check: Check, verb: str) -> Decision:
    return check.decide(replace(check.access, verb=verb))


def _check_price(*_: Any) -> int:
    return prices.AUTHORIZATION_CHECK


def _selector_price(_: Any, selector: Any, __: Any) -> int:
    length = len(selector)
    requirements = math.ceil(math.ceil(length * 0.5) * float(prices.LIST + prices.STRUCT))
    return prices.LIST + math.ceil(length * prices.TRAVERSAL) + requirements


def library() -> Library:
    def setter(function: str, field: str) -> dict[str, tuple[Overload, ...]]:
        run = _setter(field)
        return {function: (method(f"resourcecheck_{function}", (RESOURCE_CHECK, STRING), RESOURCE_CHECK, run),)}

    def selector(function: str, field: str) -> tuple[Overload, ...]:
        args = (RESOURCE_CHECK, STRING)
        return (method(f"authorizer_{function.lower()}", args, RESOURCE_CHECK, _setter(field), _selector_price),)

    return Library(
        functions={
            "path": (method("authorizer_path", (AUTHORIZER, STRING), PATH_CHECK, _path),),
            "group": (method("authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK, _group),),
            "serviceAccount": (
                method("authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _service_account),
            ),
            "resource": (method("groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK, _resource),),
            **setter("subresource", "subresource"),
            **setter("namespace", "namespace"),
            **setter("name", "name"),
            "fieldSelector": selector("fieldSelector", "field_selector"),
            "labelSelector": selector("labelSelector", "label_selector"),
            "check": (
                method("pathcheck_check", (PATH_CHECK, STRING), DECISION, _check, _check_price),
                method("resourcecheck_check", (RESOURCE_CHECK, STRING), DECISION, _check, _check_price),
            ),
            "errored": (method("decision_errored", (DECISION,), BOOL, lambda decision: decision.error is not None),),
            "error": (method("decision_error", (DECISION,), STRING, lambda decision: decision.error or ""),),
            "allowed": (method("decision_allowed", (DECISION,), BOOL, lambda decision: decision.allowed),),
            "reason": (method("decision_reason", (DECISION,), STRING, lambda decision: decision.reason),),
        },
    )
