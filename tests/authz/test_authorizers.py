"""The authorizers without rules, and several in order."""

from __future__ import annotations

import asyncio

import pytest

from kapi.api.authorizer import Decision, Verdict
from kapi.api.request_info import parse_request_info
from kapi.api.user import User
from kapi.authz.basic import AlwaysAllow, AlwaysAllowPaths, AlwaysDeny, PrivilegedGroup
from kapi.authz.union import Union

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


@pytest.mark.parametrize(
    ("method", "path", "decision"),
    [
        ("GET", "/healthz", Decision.ALLOW),
        ("GET", "/readyz", Decision.ALLOW),
        ("GET", "/livez/ping", Decision.NO_OPINION),
        ("GET", "/healthz/", Decision.NO_OPINION),
        ("POST", "/healthz", Decision.NO_OPINION),
        ("HEAD", "/healthz", Decision.NO_OPINION),
        ("GET", "/api/v1/healthz", Decision.NO_OPINION),
    ],
)
def test_everyone_may_read_whether_the_server_is_well_and_no_more(method, path, decision):
    assert ask(AlwaysAllowPaths(), ALICE, path, method).decision is decision


class Denies:
    async def authorize(self, user, attributes):
        return Verdict(Decision.DENY, "never")


def test_the_first_opinion_decides():
    assert ask(Union([PrivilegedGroup(), Denies(), AlwaysAllow()]), ALICE) == Verdict(Decision.DENY, "never")
    assert ask(Union([PrivilegedGroup(), Denies()]), ROOT).decision is Decision.ALLOW


def test_without_any_opinion_the_reasons_are_told_together():
    assert ask(Union([AlwaysDeny(), PrivilegedGroup(), AlwaysDeny()])) == Verdict(
        Decision.NO_OPINION, "Everything is forbidden.\nEverything is forbidden."
    )
    assert ask(Union([])).decision is Decision.NO_OPINION
