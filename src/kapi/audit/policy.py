"""The audit policy: which requests are written down, at which level, at which stages. The first rule that fits decides.

What a request is decided by is little (who, which verb, what kind of thing), so decisions are remembered by just those
of its traits that some rule looks at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from kapi.api.request_info import RequestInfo
from kapi.api.user import User

STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
# So many decisions are remembered; paths and verbs are the client's to make up.
_MOST_REMEMBERED = 4096


class Level(IntEnum):
    """How much is written down; a higher level has all that the lower ones have."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How one request is audited."""

    level: Level = Level.NONE
    label: str = "None"  # the level's name
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResources:
    """Resources of one API group; `*` is any group or resource, no resources are all of them."""

    group: str = ""
    resources: frozenset[str] = frozenset()
    resource_names: frozenset[str] = frozenset()

    def match(self, info: RequestInfo) -> bool:
        if self.group not in (info.api_group, "*"):
            return False
        if not self.resources:
            return True
        if self.resource_names and (info.name or info.selected_name) not in self.resource_names:
            return False
        resource, subresource = info.resource, info.subresource
        whole = f"{resource}/{subresource}" if subresource else resource
        if whole in self.resources or "*" in self.resources or f"{resource}/*" in self.resources:
            return True
        return bool(subresource) and f"*/{subresource}" in self.resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is empty asks for nothing."""

    decision: Decision
    users: frozenset[str] = frozenset()
    user_groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    resources: tuple[GroupResources, ...] = ()
    namespaces: frozenset[str] = frozenset()
    non_resource_urls: tuple[str, ...] = ()

    def match(self, user: User | None, info: RequestInfo) -> bool:
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.user_groups and (user is None or self.user_groups.isdisjoint(user.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return info.is_resource_request and self._match_resource(info)
        if self.non_resource_urls:
            return not info.is_resource_request and any(_match_path(info.path, url) for url in self.non_resource_urls)
        return True

    def _match_resource(self, info: RequestInfo) -> bool:
        if self.namespaces and info.namespace not in self.namespaces:
            return False
        return not self.resources or any(group.match(info) for group in self.resources)


def _match_path(path: str, url: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


@dataclass(slots=True)
class Policy:
    """Rules in their order, and what holds where none fits."""

    rules: tuple[Rule, ...]
    otherwise: Decision = field(default_factory=Decision)
    _users: frozenset[str] = field(init=False)
    _namespaces: frozenset[str] = field(init=False)
    _names: frozenset[str] = field(init=False)
    _looks_at_groups: bool = field(init=False)
    _remembered: dict[tuple[object, ...], Decision] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._users = _union(rule.users for rule in self.rules)
        self._namespaces = _union(rule.namespaces for rule in self.rules)
        self._names = _union(group.resource_names for rule in self.rules for group in rule.resources)
        self._looks_at_groups = any(rule.user_groups for rule in self.rules)

    def decide(self, user: User | None, info: RequestInfo) -> Decision:
        """Without a user, nobody has been authenticated."""
        key = self._key(user, info)
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            rule = next((rule for rule in self.rules if rule.match(user, info)), None)
            found = self._remembered[key] = self.otherwise if rule is None else rule.decision
        return found

    def _key(self, user: User | None, info: RequestInfo) -> tuple[object, ...]:
        """The traits that rules look at; names that no rule has are as good as none."""
        if user is None:
            who: tuple[object, ...] = ()
        else:
            who = (user.name in self._users and user.name, self._looks_at_groups and user.groups)
        if not info.is_resource_request:
            return who, info.verb, info.path
        name = info.name or info.selected_name
        return (
            who,
            info.verb,
            info.api_group,
            info.resource,
            info.subresource,
            info.namespace in self._namespaces and info.namespace,
            name in self._names and name,
        )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
