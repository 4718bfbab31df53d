"""Tokens in WebSocket subprotocols, through a real server."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from tests.server_process import Server

PREFIX = "base64url.bearer.authorization.k8s.io."
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    folder = tmp_path_factory.mktemp("websocket")
    (folder / "tokens.csv").write_text("secret,alice,1\n")
    server = Server(folder, f"--token-auth-file={folder / 'tokens.csv'}", "--authorization-mode=RBAC")

    def ask(protocols, upgrade="websocket"):
        """The user, or the status."""
        with server.client("") as client:
            status, body = client.call(
                "POST", SELF, {}, connection="Upgrade", upgrade=upgrade, sec_websocket_protocol=protocols
            )
        return body["status"]["userInfo"]["username"] if status == 201 else status

    try:
        server.start()
        yield ask
    finally:
        server.end()


def offered(token):
    return PREFIX + urlsafe_b64encode(token).rstrip(b"=").decode()


def test_a_token_may_be_one_of_several_protocols(ask):
    assert ask(f"v4.channel.k8s.io, {offered(b'secret')}") == "alice"
    assert ask(f"{offered(b'secret')},v4.channel.k8s.io") == "alice"


@pytest.mark.parametrize(
    "protocols",
    [
        offered(b"secret"),
        f"a,{offered(b'wrong')}",
        f"a,{offered(b'secret')},{offered(b'secret')}",
        f"a,{PREFIX}###",
        f"a,{PREFIX}c2VjcmV0Cg==",
        f"a,{offered(bytes([255, 254]))}",
    ],
)
def test_a_bad_one_is_refused(ask, protocols):
    assert ask(protocols) == 401


def test_without_a_token_or_without_an_upgrade_nobody_is_known_by_it(ask):
    assert ask("v4.channel.k8s.io") == 403
    assert ask(f"a,{offered(b'secret')}", upgrade="h2c") == 403
    assert ask(f"a,{PREFIX}") == 403
