"""Front proxies: whose headers are believed, and whose are not."""

from __future__ import annotations

import pytest

from kapi.api.call import Call
from kapi.api.errors import Unauthorized
from kapi.authn.anonymous import Anonymous
from kapi.authn.authenticator import Union
from kapi.authn.ca_bundle import CABundle
from kapi.authn.request_header import HeaderNames, RequestHeader
from kapi.authn.x509 import ClientCertificate
from kapi.wire.messages import Headers

NAMES = HeaderNames(
    user=("X-Remote-User",), uid=("X-Remote-Uid",), group=("X-Remote-Group",), extra_prefix=("X-Remote-Extra-",)
)


@pytest.fixture
def ask(tmp_path, authority, other_authority, clock, run, new_call):
    """As a server whose front proxies are signed by one CA, and whose clients by another."""
    proxies, clients = tmp_path / "proxies.pem", tmp_path / "clients.pem"
    proxies.write_bytes(authority.pem)
    clients.write_bytes(other_authority.pem)
    asked = [
        RequestHeader(CABundle(proxies, clock), ("front-proxy",), NAMES, clock),
        ClientCertificate(CABundle(clients, clock), clock),
    ]
    union = Union(asked, anonymous=Anonymous())

    def go(certificate, *headers):
        call: Call = new_call(certificate=certificate.der if certificate else None)
        call.request.headers = Headers([(k.lower().encode(), v.encode()) for k, v in headers])
        return run(union.authenticate(call))

    return go


def test_a_front_proxy_says_whose_request_it_carries(ask, authority):
    user = ask(
        authority.issue("front-proxy"),
        ("X-Remote-User", "zoe"),
        ("X-Remote-Uid", "7"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b,c"),
        ("X-Remote-Extra-Scopes", "s1"),
        ("X-Remote-Extra-Scopes", "s2"),
        ("X-Remote-Extra-Acme.com%2fProject", "p"),
    )
    assert (user.name, user.uid, user.groups) == ("zoe", "7", ("a", "b,c", "system:authenticated"))
    assert user.extra == {"scopes": ("s1", "s2"), "acme.com/project": ("p",)}


def test_the_headers_of_an_ordinary_client_are_never_believed(ask, other_authority):
    assert ask(other_authority.issue("bob"), ("X-Remote-User", "zoe")).name == "bob"
    assert ask(other_authority.issue("front-proxy"), ("X-Remote-User", "zoe")).name == "front-proxy"
    assert ask(None, ("X-Remote-User", "zoe")).name == "system:anonymous"


@pytest.mark.parametrize("headers", [(), (("X-Remote-User", ""),), (("X-Remote-User", "  "),)])
def test_a_front_proxy_that_names_nobody_is_nobody(ask, authority, headers):
    with pytest.raises(Unauthorized):
        ask(authority.issue("front-proxy"), *headers)


def test_a_name_that_is_not_allowed_or_an_expired_certificate_is_refused(ask, authority, clock):
    with pytest.raises(Unauthorized, match="not in the allowed list"):
        ask(authority.issue("somebody-else"), ("X-Remote-User", "zoe"))
    with pytest.raises(Unauthorized, match="has expired"):
        ask(authority.issue("front-proxy", not_after=clock.now() - 60), ("X-Remote-User", "zoe"))
