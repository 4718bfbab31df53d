"""Which requests a webhook or a policy is about: rules and selectors, compiled once per configuration object.

    matcher = Matcher(rules=..., namespace_selector=..., object_selector=..., match_policy=..., equivalents=...)
    matcher.matches(attributes, labels)       # as what it matched, or None

`labels` are those of the request's namespace (`namespace_labels`); they are looked at only by a matcher that
`selects_namespaces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from kapi.admission.lookup import Lookup, decoded
from kapi.admission.resources import NAMESPACES, REVIEWS
from kapi.api.errors import NotFound
from kapi.api.gvk import GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.api.selectors import LabelSelector, selector_from_object
from kapi.registry.attributes import Attributes, Operation

_GROUP = "admissionregistration.k8s.io"
# What configures policies cannot be locked by them.
POLICY_CONFIGURATION: Final = frozenset(
    (_GROUP, f"{kind}{suffix}")
    for kind in ("validatingadmissionpolic", "mutatingadmissionpolic")
    for suffix in ("ies", "ybindings")
)
# As upstream, webhooks see none of the configuration, while policies see that of webhooks.
WEBHOOK_EXEMPT: Final = (
    POLICY_CONFIGURATION
    | REVIEWS
    | {
        (_GROUP, "validatingwebhookconfigurations"),
        (_GROUP, "mutatingwebhookconfigurations"),
    }
)


class Match(NamedTuple):
    """As what a request is seen: in its own group and version, or in an equivalent one that a rule names."""

    resource: GroupVersionResource
    kind: GroupVersionKind


# The other groups and versions that a resource (or its subresource) is served in.
Equivalents: TypeAlias = Callable[[GroupVersionResource, str], tuple[Match, ...]]
_Place: TypeAlias = tuple[Operation, GroupVersionResource, str, bool]
# A way to match: by one of these names, or by any.
_Way: TypeAlias = tuple[frozenset[str] | None, Match | None]


class _Rule:
    """One rule, which knows nothing of selectors."""

    def __init__(self, rule: Object) -> None:
        self._operations = frozenset(rule.get("operations") or ())
        self._groups = frozenset(rule.get("apiGroups") or ())
        self._versions = frozenset(rule.get("apiVersions") or ())
        self._resources = [(r, sub) for r, _, sub in (text.partition("/") for text in rule.get("resources") or ())]
        self._scope = rule.get("scope") or "*"
        self.names = frozenset(rule.get("resourceNames") or ()) or None

    def covers(self, operation: Operation, resource: GroupVersionResource, subresource: str, *, cluster: bool) -> bool:
        return (
            _holds(self._operations, operation)
            and _holds(self._groups, resource.group)
            and _holds(self._versions, resource.version)
            and (self._scope == "*" or (self._scope == "Cluster") == cluster)
            and any(r in ("*", resource.resource) and sub in ("*", subresource) for r, sub in self._resources)
        )


def _holds(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


class _Rules:
    """Some rules. What they say of one place (an operation on a resource) is worked out once."""

    def __init__(self, rules: Iterable[Object], match_policy: str, equivalents: Equivalents) -> None:
        self._rules = [_Rule(rule) for rule in rules]
        self._equivalents = equivalents if match_policy == "Equivalent" else None
        self._ways: dict[tuple[_Place, tuple[Match, ...]], tuple[_Way, ...]] = {}

    def match(self, attributes: Attributes) -> Match | None:
        if not self._rules:
            return None
        resource, subresource = attributes.resource, attributes.subresource
        # A namespace is an object of the cluster, though requests about it name it as their namespace.
        cluster = not attributes.namespace or resource.group_resource == NAMESPACES
        place = (attributes.operation, resource, subresource, cluster)
        others = self._equivalents(resource, subresource) if self._equivalents is not None else ()
        # What is served may change, so it is part of the key.
        ways = self._ways.get((place, others))
        if ways is None:
            ways = self._ways[place, others] = tuple(self._find(place, others))
        for names, match in ways:
            if names is None or attributes.name in names:
                return match or Match(resource, attributes.kind)
        return None

    def _find(self, place: _Place, others: Sequence[Match]) -> Iterable[_Way]:
        operation, resource, subresource, cluster = place
        for rule in self._rules:
            if rule.covers(operation, resource, subresource, cluster=cluster):
                yield rule.names, None
        for rule in self._rules:
            for other in others:
                if rule.covers(operation, other.resource, subresource, cluster=cluster):
                    yield rule.names, other


class Matcher:
    """The rules and selectors of one configuration object. Without rules (None) it is about every resource."""

    def __init__(
        self,
        *,
        rules: Sequence[Object] | None,
        exclude: Sequence[Object] = (),
        namespace_selector: Object | None = None,
        object_selector: Object | None = None,
        match_policy: str = "Equivalent",
        equivalents: Equivalents,
    ) -> None:
        self._rules = None if rules is None else _Rules(rules, match_policy, equivalents)
        self._exclude = _Rules(exclude, match_policy, equivalents)
        self._namespaces = _selector(namespace_selector)
        self._objects = _selector(object_selector)
        self.selects_namespaces = self._namespaces is not None

    def rules_match(self, attributes: Attributes) -> Match | None:
        """By the rules alone."""
        if self._exclude.match(attributes) is not None:
            return None
        return Match(attributes.resource, attributes.kind) if self._rules is None else self._rules.match(attributes)

    def matches(self, attributes: Attributes, labels: Mapping[str, str] | None) -> Match | None:
        """`labels` are None where the request is about no namespace: no selector exempts it then."""
        match = self.rules_match(attributes)
        if match is None:
            return None
        if self._namespaces is not None and labels is not None and not self._namespaces.matches(labels):
            return None
        return match if self._objects is None or _selected(self._objects, attributes) else None


def _selector(selector: Object | None) -> LabelSelector | None:
    made = selector_from_object(selector or {})
    return made if made else None


def _selected(selector: LabelSelector, attributes: Attributes) -> bool:
    for held in (attributes.object, attributes.old_object):
        # What a view shows of an object (a Scale) has no labels.
        if held is not None and selector.matches(_labels(held) if held.get("kind") == attributes.kind.kind else {}):
            return True
    return False


async def namespace_labels(attributes: Attributes, lookup: Lookup) -> Mapping[str, str] | None:
    """The labels that a namespaceSelector looks at; None where no namespace is concerned. Raises NotFound."""
    is_namespace = attributes.resource.group_resource == NAMESPACES
    if is_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return _labels(attributes.object or {})
    name = attributes.namespace or (attributes.name if is_namespace else "")
    if not name:
        return None
    entry = await lookup.get(NAMESPACES, "", name)
    if entry is None:
        raise NotFound(NAMESPACES, name)
    return _labels(decoded(entry))


def _labels(found: Object) -> Mapping[str, str]:
    return (found.get("metadata") or {}).get("labels") or {}
