"""Impersonation: who may act as whom, and what the one they act as looks like."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from kapi.api.authorizer import ALLOW, NO_OPINION
from kapi.api.call import Call
from kapi.api.request_info import parse_request_info
from kapi.api.user import User
from kapi.filters.impersonation import with_impersonation
from kapi.wire.messages import Headers, Response


class Grants:
    """Allows a request when `verb resource[/subresource] name` is granted; a star stands for every name."""

    def __init__(self, *granted: str) -> None:
        self.granted = set(granted)
        self.asked: list[str] = []

    def at_once(self, user, attributes):
        return None

    async def authorize(self, user, attributes):
        resource = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
        asked = f"{attributes.verb} {resource or attributes.path}"
        self.asked.append(f"{asked} {attributes.name}".strip())
        return ALLOW if {f"{asked} {attributes.name}".strip(), f"{asked} *"} & self.granted else NO_OPINION


ALICE = User(name="alice")


@pytest.fixture
def act(new_request):
    """As whom a request of a user goes on, or the message of the refusal."""

    def go(grants, *headers, user=ALICE, filter_=None):
        request = new_request()
        request.headers = Headers([(k.lower().encode(), v.encode()) for k, v in headers])
        call = Call(request, 0.0)
        call.user, call.info, call.params = user, parse_request_info("GET", "/api/v1/pods", {}), {}
        seen = []

        async def next(call):
            seen.append(call.user)
            return Response(200, [], b"")

        async def main():
            handler = filter_(next) if filter_ else with_impersonation(next, grants)
            return await handler(call)

        response = asyncio.run(main())
        return seen[0] if seen else orjson.loads(response.body)["message"]

    return go


def test_without_the_headers_nobody_is_asked(act):
    grants = Grants()
    assert act(grants) is ALICE
    assert grants.asked == []


def test_every_part_of_an_identity_must_be_granted(act):
    headers = [
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "g1"),
        ("Impersonate-Group", "g2"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Extra-Acme.com%2fProject", "p"),
    ]
    parts = [
        "impersonate users bob",
        "impersonate groups g1",
        "impersonate groups g2",
        "impersonate uids 7",
        "impersonate userextras/acme.com/project p",
    ]
    bob = act(Grants(*parts), *headers)
    assert (bob.name, bob.uid, bob.groups) == ("bob", "7", ("g1", "g2", "system:authenticated"))
    assert bob.extra == {"acme.com/project": ("p",)}
    for missing in parts:
        assert "is forbidden" in act(Grants(*(part for part in parts if part != missing)), *headers)


@pytest.mark.parametrize("header", ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"])
def test_parts_without_a_name_are_a_bad_request(act, header):
    assert "without impersonating a user name" in act(Grants(), (header, "x"))


def test_an_empty_name_is_no_impersonation(act):
    assert act(Grants(), ("Impersonate-User", "")) is ALICE


def test_service_accounts_have_their_groups_unless_others_are_given(act):
    robot = ("Impersonate-User", "system:serviceaccount:ns:robot")
    grants = Grants("impersonate serviceaccounts robot", "impersonate groups g")
    assert act(grants, robot).groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert act(grants, robot, ("Impersonate-Group", "g")).groups == ("g", "system:authenticated")


@pytest.mark.parametrize("name", ["Bad_ns:robot", "ns:Bad_name", "ns:a:b", "ns:", ":robot"])
def test_what_cannot_be_a_service_account_is_a_user_like_others(act, name):
    user = act(Grants("impersonate users *"), ("Impersonate-User", f"system:serviceaccount:{name}"))
    assert user.groups == ("system:authenticated",)


def test_names_are_utf8_and_keys_that_cannot_be_decoded_are_taken_as_they_are(act):
    headers = [("Impersonate-User", "zoë"), ("Impersonate-Extra-a%2fb", "1"), ("Impersonate-Extra-a%2fc%zz", "2")]
    grants = Grants("impersonate users zoë", "impersonate userextras/a/b 1", "impersonate userextras/a%2fc%zz 2")
    user = act(grants, *headers)
    assert (user.name, user.extra) == ("zoë", {"a/b": ("1",), "a%2fc%zz": ("2",)})


def test_the_anonymous_user_is_unauthenticated(act):
    grants = Grants("impersonate users system:anonymous")
    assert act(grants, ("Impersonate-User", "system:anonymous")).groups == ("system:unauthenticated",)


def test_a_constrained_identity_is_for_just_that_kind_of_request(act):
    bob = ("Impersonate-User", "bob")
    assert "impersonate-on:user-info:list" in act(Grants("impersonate:user-info users bob"), bob)
    assert "impersonate:user-info" in act(Grants("impersonate-on:user-info:list pods"), bob)
    assert act(Grants("impersonate:user-info users bob", "impersonate-on:user-info:list pods"), bob).name == "bob"


def test_the_privileged_group_is_never_taken_in_a_constrained_mode(act):
    grants = Grants(
        "impersonate:user-info users bob", "impersonate:user-info groups *", "impersonate-on:user-info:list pods"
    )
    refused = act(grants, ("Impersonate-User", "bob"), ("Impersonate-Group", "system:masters"))
    assert "impersonating the system:masters group is not allowed" in refused


def test_only_the_agent_of_a_node_acts_as_its_node(act):
    node = ("Impersonate-User", "system:node:n1")
    grants = Grants("impersonate:associated-node nodes *", "impersonate-on:associated-node:list pods")

    def agent(where):
        extra = {"authentication.kubernetes.io/node-name": (where,)}
        return User(name="system:serviceaccount:ns:agent", extra=extra)

    assert act(grants, node, user=agent("n1")).groups == ("system:nodes", "system:authenticated")
    assert "impersonate-on:arbitrary-node:list" in act(grants, node, user=agent("n2"))
