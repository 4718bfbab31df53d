"""The authorizers without rules, and several in order."""

from __future__ import annotations

import asyncio

from kapi.api.authorizer import Decision, KnownRules, Verdict
from kapi.api.request_info import parse_request_info
from kapi.api.user import User
from kapi.authz.basic import AlwaysAllow, AlwaysDeny, PrivilegedGroup
from kapi.authz.union import Member, RuleUnion, Union
from kapi.telemetry.metrics import Counter

ALICE = User(name="alice", groups=("dev",))
ROOT = User(name="root", groups=("dev", "system:masters"))


def ask(authorizer, user=ALICE, target="/api/v1/pods", method="GET"):
    return asyncio.run(authorizer.authorize(user, parse_request_info(method, target, {})))


def test_the_two_extremes():
    assert ask(AlwaysAllow()).decision is Decision.ALLOW
    assert ask(AlwaysDeny()) == Verdict(Decision.NO_OPINION, "Everything is forbidden.")


def test_only_members_of_the_privileged_group_are_privileged():
    assert ask(PrivilegedGroup(), ROOT).decision is Decision.ALLOW
    assert ask(PrivilegedGroup(), ALICE).decision is Decision.NO_OPINION
    assert ask(PrivilegedGroup(), User(name="system:masters")).decision is Decision.NO_OPINION


class Says:
    def __init__(self, verdict):
        self.verdict = verdict

    def at_once(self, user, attributes):
        return None

    async def authorize(self, user, attributes):
        return self.verdict

    async def known_rules(self, user, namespace):
        return KnownRules([{"verbs": [self.verdict.reason]}], problem=self.verdict.error)


def union(*authorizers, counter=None):
    return Union([Member(authorizer) for authorizer in authorizers], counter)


DENIES = Says(Verdict(Decision.DENY, "never"))


def test_the_first_opinion_decides():
    assert ask(union(PrivilegedGroup(), DENIES, AlwaysAllow()), ALICE) == Verdict(Decision.DENY, "never")
    assert ask(union(PrivilegedGroup(), DENIES), ROOT).decision is Decision.ALLOW


def test_without_any_opinion_the_reasons_are_told_together():
    assert ask(union(AlwaysDeny(), PrivilegedGroup(), AlwaysDeny())) == Verdict(
        Decision.NO_OPINION, "Everything is forbidden.\nEverything is forbidden."
    )
    named = Union([Member(AlwaysDeny(), "alwaysdeny"), Member(Says(Verdict(Decision.NO_OPINION, "hm")), "hook")])
    assert ask(named).reason == "alwaysdeny: Everything is forbidden.\nhook: hm"
    assert ask(union()).decision is Decision.NO_OPINION


def test_errors_are_told_together_unless_somebody_allows():
    down, broken = (Says(Verdict(Decision.NO_OPINION, "", error)) for error in ("down", "broken"))
    assert ask(union(down, PrivilegedGroup(), broken)).error == "[down, broken]"
    assert ask(union(down, AlwaysAllow())) == Verdict(Decision.ALLOW)


def test_decisions_are_counted_by_who_made_them():
    counter = Counter("decisions", "", ("type", "name", "decision"))
    members = [
        Member(PrivilegedGroup()),
        Member(AlwaysDeny(), "alwaysdeny", "AlwaysDeny"),
        Member(DENIES, "no", "Webhook"),
    ]
    both = Union(members, counter)
    ask(both, ALICE)
    ask(both, ROOT)
    assert counter.values == {("Webhook", "no", "denied"): 1}


def test_rules_are_those_of_all_and_so_are_problems():
    sources = [Says(Verdict(Decision.ALLOW, "get", "a")), Says(Verdict(Decision.ALLOW, "list", "b"))]
    known = asyncio.run(RuleUnion(sources).known_rules(ALICE, "default"))
    assert known == KnownRules([{"verbs": ["get"]}, {"verbs": ["list"]}], problem="[a, b]")
