"""Flow schemas, compiled: whose requests, for what, belong to which priority level."""

from __future__ import annotations

from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User

_ANY = "*"
_ACCOUNTS = "system:serviceaccount:"


class Schema:
    """Sorted by precedence, then by name, the first that matches decides."""

    __slots__ = ("by_namespace", "by_user", "level", "name", "precedence", "rules", "uid")

    def __init__(self, decoded: Object) -> None:
        metadata, spec = decoded["metadata"], decoded["spec"]
        self.name: str = metadata["name"]
        self.uid: str = metadata.get("uid", "")
        self.level: str = spec["priorityLevelConfiguration"]["name"]
        self.precedence: int = spec["matchingPrecedence"]
        method = (spec.get("distinguisherMethod") or {}).get("type")
        self.by_user, self.by_namespace = method == "ByUser", method == "ByNamespace"
        self.rules = [_Rule(rule) for rule in spec.get("rules") or ()]

    def matches(self, user: User, info: RequestInfo) -> bool:
        return any(rule.matches(user, info) for rule in self.rules)

    def distinguisher(self, user: User, info: RequestInfo) -> str:
        return user.name if self.by_user else info.namespace if self.by_namespace else ""


class _Rule:
    __slots__ = ("anyone", "groups", "resources", "urls", "users", "whole_namespaces")

    def __init__(self, rule: Object) -> None:
        self.anyone = False
        self.users: set[str] = set()
        self.groups: set[str] = set()
        self.whole_namespaces: tuple[str, ...] = ()
        for subject in rule.get("subjects") or ():
            self._add_subject(subject)
        self.resources = [_ResourceRule(one) for one in rule.get("resourceRules") or ()]
        self.urls = [_NonResourceRule(one) for one in rule.get("nonResourceRules") or ()]

    def _add_subject(self, subject: Object) -> None:
        kind = subject.get("kind")
        if kind == "ServiceAccount":
            account = subject.get("serviceAccount") or {}
            namespace, name = account.get("namespace", ""), account.get("name", "")
            if name == _ANY:
                self.whole_namespaces += (f"{_ACCOUNTS}{namespace}:",)
            else:
                self.users.add(f"{_ACCOUNTS}{namespace}:{name}")
            return
        named = subject.get("user" if kind == "User" else "group")
        if named is None:
            return
        if named["name"] == _ANY:
            self.anyone = True
        else:
            (self.users if kind == "User" else self.groups).add(named["name"])

    def matches(self, user: User, info: RequestInfo) -> bool:
        if not self._is_about(user):
            return False
        if info.is_resource_request:
            return any(rule.matches(info) for rule in self.resources)
        return any(rule.matches(info) for rule in self.urls)

    def _is_about(self, user: User) -> bool:
        return (
            self.anyone
            or user.name in self.users
            or not self.groups.isdisjoint(user.groups)
            or user.name.startswith(self.whole_namespaces)
        )


class _ResourceRule:
    __slots__ = ("cluster_scope", "groups", "namespaces", "resources", "verbs")

    def __init__(self, rule: Object) -> None:
        self.verbs = _choice(rule.get("verbs"))
        self.groups = _choice(rule.get("apiGroups"))
        self.resources = _choice(rule.get("resources"))
        self.cluster_scope = bool(rule.get("clusterScope"))
        self.namespaces = _choice(rule.get("namespaces"))

    def matches(self, info: RequestInfo) -> bool:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if not (_in(info.verb, self.verbs) and _in(resource, self.resources) and _in(info.api_group, self.groups)):
            return False
        return _in(info.namespace, self.namespaces) if info.namespace else self.cluster_scope


class _NonResourceRule:
    __slots__ = ("prefixes", "urls", "verbs")

    def __init__(self, rule: Object) -> None:
        self.verbs = _choice(rule.get("verbs"))
        urls: list[str] = rule.get("nonResourceURLs") or []
        self.urls = None if _ANY in urls else frozenset(urls)
        # As upstream: a path stands for all below it, with an asterisk at its end or without.
        self.prefixes = tuple(url.removesuffix("*").removesuffix("/") + "/" for url in urls)

    def matches(self, info: RequestInfo) -> bool:
        return _in(info.verb, self.verbs) and (_in(info.path, self.urls) or info.path.startswith(self.prefixes))


def _choice(values: list[str] | None) -> frozenset[str] | None:
    """None: all. The wildcard stands alone, validation sees to that."""
    return None if values == [_ANY] else frozenset(values or ())


def _in(value: str, chosen: frozenset[str] | None) -> bool:
    return chosen is None or value in chosen
