"""A request and the policies that it meets: what each of them sees of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from kapi.admission.lookup import decoded
from kapi.admission.matching import POLICY_CONFIGURATION, Match, Matcher, namespace_labels
from kapi.admission.policy.params import Misconfigured, collect, param_store
from kapi.admission.policy.source import Binding, Policy
from kapi.admission.questions import Questions
from kapi.admission.request import admission_request, namespace_of
from kapi.admission.resources import NAMESPACES, REVIEWS
from kapi.admission.services import Services
from kapi.admission.versions import NotConverted
from kapi.api.errors import APIError, NotFound
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

E = TypeVar("E")
Complain = Callable[[Policy[Any], Binding | None, str], None]

EXEMPT = POLICY_CONFIGURATION | REVIEWS


class Bound(NamedTuple):
    """A policy that a request meets through one of its bindings, with one of the binding's parameters."""

    policy: Policy[Any]
    binding: Binding
    match: Match
    param: Object | None


class Meeting:
    """One request. What is looked up for it is looked up once."""

    def __init__(self, attributes: Attributes, services: Services) -> None:
        self.attributes = attributes
        self.questions = Questions(services.authorizer, attributes.call.user)
        self._services = services
        self._labels: Mapping[str, str] | None = None
        self._has_labels = False
        self._namespace: Object | None = None
        self._requests: dict[Match, Object] = {}

    async def bound(self, policies: tuple[Policy[E], ...], complain: Complain) -> list[Bound]:
        """Each policy, binding and parameter that matches; misconfiguration is complained of."""
        found: list[Bound] = []
        for policy in policies:
            try:
                match = await self._match(policy.matcher)
                if match is None:
                    continue
                store = param_store(policy, self._services.versions)
            except (Misconfigured, APIError) as error:
                complain(policy, None, f"failed to configure policy: {error}")
                continue
            for binding in policy.bindings:
                try:
                    if binding.matcher is not None and await self._match(binding.matcher) is None:
                        continue
                    params = await collect(store, binding, namespace_of(self.attributes))
                except (Misconfigured, APIError) as error:
                    complain(policy, binding, f"failed to configure binding: {error}")
                    continue
                found += [Bound(policy, binding, match, param) for param in params]
        return found

    async def _match(self, matcher: Matcher) -> Match | None:
        if not matcher.selects_namespaces:
            return matcher.matches(self.attributes, None)
        if not self._has_labels:
            if matcher.rules_match(self.attributes) is None:
                return None
            self._labels = await namespace_labels(self.attributes, self._services.lookup)
            self._has_labels = True
        return matcher.matches(self.attributes, self._labels)

    async def seen(self, bound: Bound) -> dict[str, Any]:
        """What all of the policy's expressions see. Misconfigured when an object cannot be converted.

        Raises NotFound when the request's namespace is gone.
        """
        attributes, versions = self.attributes, self._services.versions
        try:
            new = await versions.shown(attributes, attributes.object, bound.match.kind)
            old = await versions.shown(attributes, attributes.old_object, bound.match.kind)
        except NotConverted as error:
            raise Misconfigured(str(error)) from None
        return {
            "object": new,
            "oldObject": old,
            "request": self._request(bound.match),
            "params": bound.param,
            "namespaceObject": await self._namespace_object(),
        }

    def _request(self, match: Match) -> Object:
        found = self._requests.get(match)
        if found is None:
            found = self._requests[match] = admission_request(self.attributes, match)
        return found

    @cached_property
    def authorizer(self) -> Mapping[str, Any]:
        """For expressions that may ask it."""
        from kapi.admission.evaluation import asked  # whoever evaluates has loaded CEL

        return asked(self.attributes, self.questions)

    async def _namespace_object(self) -> Object | None:
        attributes = self.attributes
        if not attributes.namespace or attributes.resource.group_resource == NAMESPACES:
            return None
        if self._namespace is None:
            entry = await self._services.lookup.get(NAMESPACES, "", attributes.namespace)
            if entry is None:
                raise NotFound(NAMESPACES, attributes.namespace)
            self._namespace = decoded(entry)
        return self._namespace
