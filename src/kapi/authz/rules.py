"""Policy rules: what one allows, what a set of them covers, and how a refusal tells of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product

from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo

ANY = "*"


class Rule:
    """A PolicyRule, ready to be asked. Only `resource_names` looks at the object's name."""

    __slots__ = ("groups", "resource_names", "resources", "urls", "verbs")

    def __init__(self, rule: Object) -> None:
        self.verbs = frozenset(rule.get("verbs") or ())
        self.groups = frozenset(rule.get("apiGroups") or ())
        self.resources = frozenset(rule.get("resources") or ())
        self.resource_names = frozenset(rule.get("resourceNames") or ())
        self.urls = tuple(rule.get("nonResourceURLs") or ())

    def allows(self, attributes: RequestInfo) -> bool:
        """Whether this allows the request, for those of its names that `resource_names` admits."""
        if ANY not in self.verbs and attributes.verb not in self.verbs:
            return False
        if not attributes.is_resource_request:
            return any(url_covers(url, attributes.path) for url in self.urls)
        if ANY not in self.groups and attributes.api_group not in self.groups:
            return False
        return self._allows_resource(attributes.resource, attributes.subresource)

    def _allows_resource(self, resource: str, subresource: str) -> bool:
        resources = self.resources
        if ANY in resources:
            return True
        if not subresource:
            return resource in resources
        return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources


def url_covers(rule: str, path: str) -> bool:
    if rule in (ANY, path):
        return True
    return rule.endswith("*") and path.startswith(rule.rstrip("*"))


def uncovered(owned: Sequence[Object], wanted: Iterable[Object]) -> list[Object]:
    """What of the wanted rules the owned ones do not grant, in rules of one verb on one thing."""
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(own, part) for own in owned)]


def _parts(rule: Object) -> Iterator[Object]:
    verbs = rule.get("verbs") or ()
    for group, resource, verb in product(rule.get("apiGroups") or (), rule.get("resources") or (), verbs):
        part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        names = rule.get("resourceNames")
        if names:
            yield from ({**part, "resourceNames": [name]} for name in names)
        else:
            yield part
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [url], "verbs": [verb]}


def _covers(owned: Object, part: Object) -> bool:
    return (
        _has_all(owned.get("verbs"), part["verbs"])
        and _has_all(owned.get("apiGroups"), part.get("apiGroups", ()))
        and _resources_cover(owned.get("resources") or (), part.get("resources", ()))
        and _urls_cover(owned.get("nonResourceURLs") or (), part.get("nonResourceURLs", ()))
        and _names_cover(owned.get("resourceNames"), part.get("resourceNames"))
    )


def _has_all(owned: Collection[str] | None, wanted: Collection[str]) -> bool:
    return ANY in (owned or ()) or all(item in (owned or ()) for item in wanted)


def _resources_cover(owned: Collection[str], wanted: Collection[str]) -> bool:
    if _has_all(owned, wanted):
        return True
    return all(path in owned or ("/" in path and f"*/{path.split('/')[1]}" in owned) for path in wanted)


def _urls_cover(owned: Collection[str], wanted: Collection[str]) -> bool:
    return all(any(url_covers(own, url) for own in owned) for url in wanted)


def _names_cover(owned: Collection[str] | None, wanted: Collection[str] | None) -> bool:
    if not owned:
        return True
    return bool(wanted) and all(name in owned for name in wanted or ())


def compact(rules: Iterable[Object]) -> list[Object]:
    """Rules on the same resource become one with all their verbs; the others stay as they are."""
    merged: dict[tuple[str, str, str], Object] = {}
    rest: list[Object] = []
    for rule in rules:
        names = rule.get("resourceNames") or [""]
        if rule.get("nonResourceURLs") or len(rule["apiGroups"]) != 1 or len(rule["resources"]) != 1 or len(names) > 1:
            rest.append(rule)
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], names[0])
        if key in merged:
            merged[key]["verbs"] += rule["verbs"]
        else:
            merged[key] = {**rule, "verbs": list(rule["verbs"])}
    return [*merged.values(), *rest]


_SHOWN = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def describe(rule: Object) -> str:
    """As upstream's CompactString."""
    return "{" + ", ".join(f"{title}:{go_strings(rule[field])}" for title, field in _SHOWN if rule.get(field)) + "}"


def go_strings(texts: Iterable[str]) -> str:
    """As Go prints a []string with %q."""
    return "[" + " ".join(go_quote(text) for text in texts) + "]"


def aggregate(messages: Iterable[str]) -> str:
    """As upstream prints several errors as one: each once, in brackets when there are several."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
