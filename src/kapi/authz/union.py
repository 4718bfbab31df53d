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


class Member(NamedTuple):
    """An authorizer, its name in front of its reasons, and its mode; without one its decisions are not counted."""

    authorizer: Authorizer
    name: str = ""
    mode: str = ""


class Union:
    """When none has an opinion, the reasons they gave are told together, and so are their errors."""

    def __init__(self, members: Sequence[Member], decisions: Counter | None = None) -> None:
        self._members = tuple(
            (
                member.authorizer.authorize,
                member.name,
                (member.mode, member.name, "allowed"),
                (member.mode, member.name, "denied"),
            )
            for member in members
        )
        self._decisions = decisions if decisions is not None else Counter("", "", _MODE)

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        reasons: list[str] = []
        errors: list[str] = []
        for authorize, name, allowed, denied in self._members:
            verdict = await authorize(user, attributes)
            if verdict.decision is not Decision.NO_OPINION:
                if allowed[0]:
                    self._decisions.inc(allowed if verdict.decision is Decision.ALLOW else denied)
                return verdict
            if verdict.reason:
                reasons.append(f"{name}: {verdict.reason}" if name else verdict.reason)
            if verdict.error:
                errors.append(verdict.error)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons), aggregate(errors))


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
