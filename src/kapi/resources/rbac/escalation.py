"""Nobody grants what they do not hold: what is checked before a role or a binding is written.

Exempt are the privileged group, whoever may `escalate` the role, and whoever may `bind` the role that is bound.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.call import Call
from kapi.api.errors import APIError, BadRequest, Forbidden, NotFound
from kapi.api.fields import go_quote
from kapi.api.gvk import GroupResource
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP, User
from kapi.authz.rules import compact, describe, go_strings, uncovered
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.resource import Finish, Resource

GROUP = "rbac.authorization.k8s.io"
_EVERYTHING: list[Object] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_CLUSTER_ADMIN_ONLY = "must have cluster-admin privileges to use the aggregationRule"


class RuleResolver(Protocol):
    async def rules_for(self, user: User, namespace: str) -> tuple[list[Object], str]:
        """The user's rules, and what is wrong with those that could not be found."""

    async def role_rules(self, kind: str, namespace: str, name: str) -> list[Object] | None: ...


class Guard:
    """The StoreHooks of one rbac resource; `check` refuses what is written if it grants too much."""

    def __init__(self, check: Callable[[Call, Object, Object | None], Awaitable[None]]) -> None:
        self._check = check

    async def begin_create(self, call: Call, new: Object, options: WriteOptions) -> Finish | None:
        await self._check(call, new, None)
        return None

    async def begin_update(self, call: Call, new: Object, old: Object, options: WriteOptions) -> Finish | None:
        if not _only_frees(new, old):
            await self._check(call, new, old)
        return None

    async def after_delete(self, call: Call, old: Object, options: DeleteOptions) -> None:
        """What is deleted grants nothing."""


class Escalation:
    def __init__(self, resolver: RuleResolver, authorizer: Authorizer) -> None:
        self._resolver = resolver
        self._authorizer = authorizer

    def guard(self, resource: Resource) -> Guard:
        """For a role or binding of either scope."""
        return Guard(self._check_role if resource.kind.endswith("Role") else self._check_binding)

    async def _check_role(self, call: Call, new: Object, old: Object | None) -> None:
        if SYSTEM_PRIVILEGED_GROUP in call.user.groups or await self._may_escalate(call):
            return
        await self._confirm(call, new, new.get("rules") or [])
        if not any((role.get("aggregationRule") or {}).get("clusterRoleSelectors") for role in (new, old or {})):
            return
        held, _ = await self._resolver.rules_for(call.user, call.info.namespace)
        if uncovered(held, _EVERYTHING):
            raise Forbidden(GroupResource(GROUP, call.info.resource), new["metadata"]["name"], _CLUSTER_ADMIN_ONLY)

    async def _check_binding(self, call: Call, new: Object, old: Object | None) -> None:
        role = new.get("roleRef") or {}
        if SYSTEM_PRIVILEGED_GROUP in call.user.groups or await self._may_bind(call, role):
            return
        kind, name = role.get("kind", ""), role.get("name", "")
        _check_reference(kind, call.info.namespace, name)
        rules = await self._resolver.role_rules(kind, call.info.namespace, name)
        if rules is None:
            raise NotFound(GroupResource(GROUP, call.info.resource), name)
        await self._confirm(call, new, rules)

    async def _confirm(self, call: Call, new: Object, rules: list[Object]) -> None:
        user = call.user
        held, problems = await self._resolver.rules_for(user, call.info.namespace)
        missing = uncovered(held, rules)
        if not missing:
            return
        why = (
            f"user {go_quote(user.name)} (groups={go_strings(user.groups)}) is attempting to grant RBAC permissions "
            "not currently held:\n" + "\n".join(sorted({describe(rule) for rule in compact(missing)}))
        )
        if problems:
            why += f"; resolution errors: [{problems}]"
        raise Forbidden(GroupResource(GROUP, call.info.resource), new["metadata"].get("name", ""), why)

    async def _may_escalate(self, call: Call) -> bool:
        info = call.info
        return await self._may(call.user, "escalate", info.api_group, info.resource, info.namespace, info.name)

    async def _may_bind(self, call: Call, role: Object) -> bool:
        resource = {"ClusterRole": "clusterroles", "Role": "roles"}.get(role.get("kind", ""))
        if resource is None:
            return False
        return await self._may(
            call.user, "bind", role.get("apiGroup", ""), resource, call.info.namespace, role.get("name", "")
        )

    async def _may(self, user: User, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
        attributes = RequestInfo("", verb)
        attributes.is_resource_request = True
        attributes.api_group, attributes.api_version, attributes.resource = group, "*", resource
        attributes.namespace, attributes.name = namespace, name
        return (await self._authorizer.authorize(user, attributes)).decision is Decision.ALLOW


def _check_reference(kind: str, namespace: str, name: str) -> None:
    """As upstream, which looks the role up before the binding is validated."""
    if kind not in ("Role", "ClusterRole"):
        raise APIError(f"unsupported role reference kind: {go_quote(kind)}")
    if kind == "Role" and not namespace:
        raise BadRequest("Namespace parameter required.")
    if not name:
        raise BadRequest("Name parameter required.")
    for problem in path_segment(name):
        raise BadRequest(f'Name parameter invalid: "{name}": {problem}')


def _only_frees(new: Object, old: Object) -> bool:
    """Whether only what the garbage collector needs to change is changed: owners and finalizers."""
    return _without_ownership(new) == _without_ownership(old)


def _without_ownership(obj: Object) -> Object:
    left_out = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k not in left_out}}
