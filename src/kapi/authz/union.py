"""Several authorizers, asked in order: the first that allows or denies decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kapi.api.authorizer import Authorizer, Decision, KnownRules, RuleSource, Verdict
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.authz.rules import aggregate
from kapi.telemetry.metrics import Counter

_MODE = ("type", "name", "decision")
# Looked up with every request; a member of an Enum is found more slowly.
NO_OPINION = Decision.NO_OPINION


class Member(NamedTuple):
    """An authorizer, its name in front of its reasons, and its mode; without one its decisions are not counted."""

    authorizer: Authorizer
    name: str = ""
    mode: str = ""


class Union:
    """When none has an opinion, the reasons they gave are told together, and so are their errors."""

    def __init__(self, members: Sequence[Member], decisions: Counter | None = None) -> None:
        self._members = tuple(members)
        self._prompt = tuple((member.authorizer.at_once, member) for member in members)
        self._decisions = decisions if decisions is not None else Counter("", "", _MODE)

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        """Only what is decided: reasons for having no opinion are worth asking for again."""
        for at_once, member in self._prompt:
            verdict = at_once(user, attributes)
            if verdict is None:
                return None
            if verdict.decision is not NO_OPINION:
                return self._decided(verdict, member)
        return None

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        reasons: list[str] = []
        errors: list[str] = []
        for member in self._members:
            verdict = await member.authorizer.authorize(user, attributes)
            if verdict.decision is not NO_OPINION:
                return self._decided(verdict, member)
            if verdict.reason:
                reasons.append(f"{member.name}: {verdict.reason}" if member.name else verdict.reason)
            if verdict.error:
                errors.append(verdict.error)
        return Verdict(NO_OPINION, "\n".join(reasons), aggregate(errors))

    def _decided(self, verdict: Verdict, member: Member) -> Verdict:
        if member.mode:
            decision = "allowed" if verdict.decision is Decision.ALLOW else "denied"
            self._decisions.inc((member.mode, member.name, decision))
        return verdict


class RuleUnion:
    """All that several authorizers know of what somebody may do."""

    def __init__(self, sources: Sequence[RuleSource]) -> None:
        self._sources = tuple(sources)

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        rules: list[Object] = []
        problems: list[str] = []
        incomplete = False
        for source in self._sources:
            known = await source.known_rules(user, namespace)
            rules += known.rules
            incomplete = incomplete or known.incomplete
            problems += [known.problem] if known.problem else []
        return KnownRules(rules, incomplete, aggregate(problems))
