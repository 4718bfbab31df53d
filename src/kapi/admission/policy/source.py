"""Policies with their bindings, kept in step with what is stored. One is compiled when a request first meets it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from kapi.admission.followed import Followed
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.matching import Equivalents, Matcher
from kapi.api.gvk import GroupResource, GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.storage.cacher.entry import Entry

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Binding:
    """To what a policy applies, and with which parameters."""

    name: str
    spec: Object
    matcher: Matcher | None  # None: to all that the policy is about

    @property
    def actions(self) -> Sequence[str]:
        return self.spec.get("validationActions") or ()


class Policy(Generic[E]):
    """One policy; `evaluator` is what its expressions compile to."""

    def __init__(self, obj: Object, equivalents: Equivalents, compile_policy: Callable[[Object], E]) -> None:
        spec: Object = obj["spec"]
        self.name: str = obj["metadata"]["name"]
        self.spec = spec
        self.matcher = match_resources(spec.get("matchConstraints"), equivalents)
        self.ignores_failures = spec.get("failurePolicy") == "Ignore"
        self.bindings: tuple[Binding, ...] = ()
        self._object = obj
        self._compile = compile_policy

    @cached_property
    def evaluator(self) -> E:
        return self._compile(self._object)

    @cached_property
    def param_kind(self) -> GroupVersionKind | None:
        kind = self.spec.get("paramKind")
        if kind is None:
            return None
        return GroupVersionKind(*GroupVersion.parse(kind.get("apiVersion", "")), kind.get("kind", ""))


def match_resources(match: Object | None, equivalents: Equivalents) -> Matcher:
    """A MatchResources; one without rules is about everything."""
    match = match or {}
    return Matcher(
        rules=match.get("resourceRules") or None,
        exclude=match.get("excludeResourceRules") or (),
        namespace_selector=match.get("namespaceSelector"),
        object_selector=match.get("objectSelector"),
        match_policy=match.get("matchPolicy") or "Equivalent",
        equivalents=equivalents,
    )


class Source(Generic[E]):
    """`policies` are those that have bindings, in the order of their names."""

    def __init__(
        self,
        lookup: Lookup,
        resources: tuple[GroupResource, GroupResource],
        equivalents: Equivalents,
        compile_policy: Callable[[Object], E],
    ) -> None:
        self._followed = Followed(lookup, *resources)
        self._equivalents = equivalents
        self._compile = compile_policy
        self._made: dict[tuple[str, int], Policy[E]] = {}  # by uid and generation
        self._policies: tuple[Policy[E], ...] = ()

    @property
    def idle(self) -> bool:
        """Whether there certainly is no policy to look at."""
        return not self._policies and not self._followed.stale

    async def policies(self) -> tuple[Policy[E], ...]:
        if self._followed.stale:
            if not self._followed.loaded:
                await self._followed.load()
            self._refresh(*self._followed.take())
        return self._policies

    def _refresh(self, policies: Sequence[Entry], bindings: Sequence[Entry]) -> None:
        bound: dict[str, list[Binding]] = {}
        for entry in bindings:
            obj = decoded(entry)
            spec = obj["spec"]
            match = spec.get("matchResources")
            matcher = match_resources(match, self._equivalents) if match is not None else None
            bound.setdefault(spec["policyName"], []).append(Binding(obj["metadata"]["name"], spec, matcher))
        made: dict[tuple[str, int], Policy[E]] = {}
        for entry in policies:
            obj = decoded(entry)
            metadata = obj["metadata"]
            if metadata["name"] in bound:
                key = (metadata["uid"], metadata.get("generation", 0))
                policy = self._made.get(key) or Policy(obj, self._equivalents, self._compile)
                policy.bindings = tuple(bound[metadata["name"]])
                made[key] = policy
        self._made, self._policies = made, tuple(made.values())
