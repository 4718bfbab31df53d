"""RBAC: a request is allowed when a role that its user holds, by name or group, has a rule for it.

A decision is made once for each user, verb, resource and namespace, and kept until any role or binding changes. Names
are left out of the key: where a rule is about names, what is kept is which names it admits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from kapi.api.authorizer import Decision, KnownRules, Verdict
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.authz.bindings import Binding, Bindings, Caches, Role
from kapi.authz.rules import aggregate
from kapi.storage import kv

GROUP = "rbac.authorization.k8s.io"
_MOST_DECISIONS = 100_000


class ByName(NamedTuple):
    """A decision that depends on the object's name: for these names one verdict each, another for the rest."""

    named: tuple[tuple[frozenset[str], Verdict], ...]
    rest: Verdict

    def of(self, name: str) -> Verdict:
        for names, verdict in self.named:
            if name in names:
                return verdict
        return self.rest


_Key: TypeAlias = tuple[str, tuple[str, ...], bool, str, str, str, str, str]


class RBAC:
    """An Authorizer, and who knows all rules of a user. Usable once it is bound to the caches of the rbac objects."""

    def __init__(self) -> None:
        self._decisions: dict[_Key, Verdict | ByName] = {}
        self._bindings = Bindings(self._decisions.clear)

    def bind(self, caches: Caches) -> None:
        self._bindings.bind(caches)

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        if not self._bindings.filled:
            try:
                await self._bindings.fill()
            except kv.StorageError as error:
                return Verdict(Decision.NO_OPINION, f"RBAC: the roles cannot be read: {error}")
        verdict = self.at_once(user, attributes)
        assert verdict is not None, "the roles were read"
        return verdict

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        key = (
            user.name,
            user.groups,
            attributes.is_resource_request,
            attributes.verb,
            attributes.api_group,
            attributes.resource if attributes.is_resource_request else attributes.path,
            attributes.subresource,
            attributes.namespace,
        )
        found = self._decisions.get(key)
        if found is None:
            if not self._bindings.filled:
                return None
            found = self._decide(user, attributes)
            if len(self._decisions) >= _MOST_DECISIONS:
                self._decisions.clear()
            self._decisions[key] = found
        return found if found.__class__ is Verdict else found.of(attributes.name or attributes.selected_name)  # type: ignore[union-attr]

    def _decide(self, user: User, attributes: RequestInfo) -> Verdict | ByName:
        missing: list[str] = []
        named: list[tuple[frozenset[str], Verdict]] = []
        namespace = attributes.namespace if attributes.is_resource_request else ""
        for binding in self._bindings.of(user, namespace):
            role = self._role(binding, missing)
            if role is None:
                continue
            for rule in role.on(attributes.verb):
                if not rule.allows(attributes):
                    continue
                verdict = Verdict(Decision.ALLOW, f"RBAC: allowed by {binding.granted_to(user)}")
                if not rule.resource_names:
                    return ByName(tuple(named), verdict) if named else verdict
                named.append((rule.resource_names, verdict))
        rest = Verdict(Decision.NO_OPINION, f"RBAC: {aggregate(missing)}" if missing else "")
        return ByName(tuple(named), rest) if named else rest

    def _role(self, binding: Binding, missing: list[str]) -> Role | None:
        if binding.role_kind not in ("Role", "ClusterRole"):
            missing.append(f'unsupported role reference kind: "{binding.role_kind}"')
            return None
        role = self._bindings.role(binding.role_kind, binding.namespace, binding.role_name)
        if role is None:
            missing.append(f'{binding.role_kind.lower()}.{GROUP} "{binding.role_name}" not found')
        return role

    # Rules

    async def rules_for(self, user: User, namespace: str) -> tuple[list[Object], str]:
        """All rules of this user in the namespace (and the cluster), and what is wrong with those that are missing."""
        await self._bindings.fill()
        missing: list[str] = []
        rules = list(self._rules(user, namespace, missing))
        return rules, aggregate(missing)

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        rules, problem = await self.rules_for(user, namespace)
        return KnownRules(rules, problem=problem)

    def _rules(self, user: User, namespace: str, missing: list[str]) -> Iterator[Object]:
        for binding in self._bindings.of(user, namespace):
            role = self._role(binding, missing)
            if role is not None:
                yield from role.rules

    async def role_rules(self, kind: str, namespace: str, name: str) -> list[Object] | None:
        """The rules of a role, as a binding in that namespace refers to it; None when there is no such role."""
        await self._bindings.fill()
        role = self._bindings.role(kind, namespace, name)
        return None if role is None else role.rules
