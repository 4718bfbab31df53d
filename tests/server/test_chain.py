"""The whole chain: what comes out of it when its filters stand together."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from kapi.api.user import SYSTEM_PRIVILEGED_GROUP, User
from kapi.authn.anonymous import Anonymous
from kapi.authn.authenticator import Union
from kapi.authn.bearer import BearerToken
from kapi.authn.tokens import Authenticated, Tokens
from kapi.authz.basic import AlwaysDeny, PrivilegedGroup
from kapi.authz.union import Member
from kapi.authz.union import Union as AuthorizerUnion
from kapi.server.chain import build_insecure_handler_chain
from kapi.server.server import GenericServer
from kapi.wire.messages import Response


class Names:
    async def authenticate_token(self, token, audiences):
        groups = {"root": (SYSTEM_PRIVILEGED_GROUP,), "alice": ()}
        return Authenticated(User(name=token, groups=groups[token])) if token in groups else None


@pytest.fixture
def server(new_config):
    config = new_config(
        authenticator=Union([BearerToken(Tokens([Names()]))], anonymous=Anonymous()),
        authorizer=AuthorizerUnion([Member(PrivilegedGroup()), Member(AlwaysDeny())]),
        hsts_directives=("max-age=60",),
        cors_allowed_origins=("https://ui",),
    )
    server = GenericServer("kube", config)

    async def handle(call):
        call.warn("old version")
        if call.info.name == "broken":
            raise ZeroDivisionError
        return Response(200, [(b"content-type", b"application/json")], call.user.name.encode())

    server.api_groups["", "v1"] = handle
    return server


def test_a_good_request_comes_out_with_every_header(server, ask):
    response = ask(server, "/api/v1/pods", Authorization="Bearer root", Origin="https://ui", **{"Audit-Id": "a1"})
    headers = dict(response.headers)
    assert (response.status, response.body) == (200, b"root")
    assert headers[b"audit-id"] == b"a1"
    assert headers[b"cache-control"] == b"no-cache, private"
    assert headers[b"strict-transport-security"] == b"max-age=60"
    assert headers[b"access-control-allow-origin"] == b"https://ui"
    assert headers[b"warning"] == b'299 - "old version"'


@pytest.mark.parametrize("target", ["/healthz", "/api/v1/pods", "/nosuchpath"])
def test_a_bad_token_is_a_401_wherever_it_goes(server, ask, target):
    response = ask(server, target, Authorization="Bearer nosuchtoken")
    headers = dict(response.headers)
    assert response.status == 401
    assert headers[b"cache-control"] == b"no-cache, private"
    assert b"audit-id" in headers
    assert b"www-authenticate" not in headers


def test_health_is_told_to_those_who_may_ask(server, ask):
    assert ask(server, "/readyz", Authorization="Bearer root").status == 200
    assert ask(server, "/readyz").status == 403
    response = ask(server, "/version")
    assert response.status == 403
    assert orjson.loads(response.body)["message"] == (
        'forbidden: User "system:anonymous" cannot get path "/version": Everything is forbidden.'
    )


def test_a_warning_of_authentication_reaches_a_client_that_is_refused(server, ask):
    response = ask(server, "/api", Authorization="Bearer  root")
    assert response.status == 403
    assert dict(response.headers)[b"warning"].startswith(
        b'299 - "the provided Authorization header contains extra space'
    )


def test_a_panic_leaves_a_server_that_still_serves(server, ask, log):
    response = ask(server, "/api/v1/namespaces/a/pods/broken", Authorization="Bearer root")
    assert response.status == 500
    assert b"audit-id" in dict(response.headers)
    assert "ZeroDivisionError" in log.stream.getvalue()
    assert ask(server, "/api/v1/pods", Authorization="Bearer root").status == 200


def test_a_bad_timeout_is_told_before_anything_else_is_asked(server, ask):
    assert ask(server, "/api/v1/pods?timeout=soon", Authorization="Bearer nosuchtoken").status == 400


def test_the_insecure_chain_asks_nobody_who_they_are(server):
    handler = build_insecure_handler_chain(server.handle, server.config)

    class Plain:
        method, path, query, protocol = "GET", "/api/v1/pods", "", "HTTP/1.1"

        def __init__(self):
            from kapi.wire.messages import Headers

            self.headers = Headers([(b"authorization", b"Bearer nosuchtoken")])
            self.connection = type("C", (), {"identity": None, "remote": ("", 0), "secure": False})()

    response = asyncio.run(handler(Plain()))
    assert (response.status, response.body) == (200, b"system:unsecured")


def test_a_refusal_is_told_in_yaml_to_those_who_want_it(server, ask):
    response = ask(server, "/api/v1/pods", Authorization="Bearer nosuchtoken", Accept="application/yaml")
    assert dict(response.headers)[b"content-type"] == b"application/yaml"
    assert response.body.decode() == (
        "apiVersion: v1\ncode: 401\nkind: Status\nmessage: Unauthorized\nmetadata: {}\nreason: Unauthorized\n"
        "status: Failure\n"
    )
    both = "application/json;as=Table;v=v1;g=meta.k8s.io, application/yaml"
    response = ask(server, "/api/v1/pods", Authorization="Bearer nosuchtoken", Accept=both)
    assert dict(response.headers)[b"content-type"] == b"application/yaml"  # a failure is no table
