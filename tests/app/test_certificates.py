"""TLS as clients meet it: who the server says it is, who the client says it is, and files that change."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from cryptography import x509

from kapi.wire.pki import Authority
from tests.server_process import Client, Server

NewServer = Callable[..., Server]


def shown_names(server: Server, server_name: str) -> list[str]:
    """The DNS names of the certificate that a client asking for this name is shown."""
    context = ssl._create_unverified_context()
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    with context.wrap_socket(raw, server_hostname=server_name) as connection:
        shown = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return names.value.get_values_for_type(x509.DNSName)


def replace_pair(target: tuple[Path, Path], source: tuple[Path, Path]) -> None:
    """Key and certificate change together, as far as files can."""
    for old, new in zip(target, source, strict=True):
        os.replace(new, old)


def test_server_names_choose_the_certificate(new_server: NewServer, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    other.ensure()
    named = other.issue_server(["api.example.com"], [], pair_name="named")
    pattern = other.issue_server(["whatever.test"], [], pair_name="pattern")
    server = new_server(
        f"--tls-sni-cert-key={named[0]},{named[1]}",
        f"--tls-sni-cert-key={pattern[0]},{pattern[1]}:*.apps.test,exact.test",
    ).start()
    assert shown_names(server, "api.example.com") == ["api.example.com"]
    assert shown_names(server, "one.apps.test") == ["whatever.test"]
    assert shown_names(server, "exact.test") == ["whatever.test"]
    assert "localhost" in shown_names(server, "localhost")
    assert "localhost" in shown_names(server, "two.one.apps.test")


def test_new_certificate_files_are_used_without_dropping_a_connection(new_server: NewServer) -> None:
    server = new_server().start()

    async def run() -> None:
        async with asyncio.timeout(30), server.connected(server.tls()) as old:
            assert (await old.get("/version"))[0] == 200
            replace_pair(
                server.serving, server.authority.issue_server(["renewed.test"], ["127.0.0.1"], pair_name="new")
            )
            while "renewed.test" not in await asyncio.to_thread(shown_names, server, "localhost"):
                pass
            assert (await old.get("/version"))[0] == 200

    asyncio.run(run())


def test_a_changed_client_ca_lets_new_clients_in(new_server: NewServer, tmp_path: Path) -> None:
    newcomers = Authority(tmp_path / "newcomers")
    newcomers.ensure()
    bundle = tmp_path / "clients.crt"
    server = new_server(f"--client-ca-file={bundle}", "--authorization-mode=AlwaysDeny")
    bundle.write_bytes(server.authority.ensure().read_bytes())
    server.start()

    def as_newcomer() -> int:
        context = server.tls("")
        context.load_cert_chain(*newcomers.issue_client("new", ["system:masters"], pair_name="new"))
        with Client(server.port, context) as client:
            return client.call("GET", "/api/v1/namespaces")[0]

    with server.client() as old:
        assert old.call("GET", "/api/v1/namespaces")[0] == 200
        assert as_newcomer() == 401
        bundle.write_bytes(bundle.read_bytes() + newcomers.ensure().read_bytes())
        while as_newcomer() != 200:
            pass
        assert old.call("GET", "/api/v1/namespaces")[0] == 200


def test_the_common_name_is_the_user_and_organizations_are_groups(new_server: NewServer) -> None:
    server = new_server("--authorization-mode=AlwaysDeny").start()
    path = "/api/v1/namespaces/default/configmaps"
    with server.client("alice", "developers") as alice:
        status, body = alice.call("GET", path)
        assert (status, body["reason"]) == (403, "Forbidden")
        assert body["message"] == (
            'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" '
            'in the namespace "default": alwaysdeny: Everything is forbidden.'
        )
    with server.client("bob", "developers", "system:masters") as bob:
        assert bob.call("GET", path)[0] == 200


def test_whoever_brings_no_certificate_is_anonymous(new_server: NewServer) -> None:
    server = new_server("--authorization-mode=AlwaysDeny").start()
    with server.client("") as nobody:
        status, body = nobody.call("GET", "/api/v1/namespaces")
        assert status == 403
        assert 'User "system:anonymous" cannot list' in body["message"]
        assert nobody.text("/readyz")[0] == 403


def test_without_anonymous_requests_a_certificate_is_needed(shared_server: Server) -> None:
    with shared_server.client("") as nobody:
        status, body = nobody.call("GET", "/api/v1/namespaces")
    assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")


def test_a_certificate_of_an_unknown_authority_is_unauthorized(new_server: NewServer, tmp_path: Path) -> None:
    """Also where anonymous requests are let in: a bad proof is worse than none."""
    server = new_server("--authorization-mode=AlwaysDeny").start()
    stranger = Authority(tmp_path / "stranger")
    stranger.ensure()
    context = server.tls("")
    context.load_cert_chain(*stranger.issue_client("admin", ["system:masters"]))
    with Client(server.port, context) as client:
        assert client.call("GET", "/api/v1/namespaces")[0] == 401


def test_a_serving_certificate_is_no_proof_of_a_client(new_server: NewServer) -> None:
    server = new_server().start()
    context = server.tls("")
    context.load_cert_chain(*server.authority.issue_server(["localhost"], [], pair_name="another"))
    with Client(server.port, context) as client:
        assert client.call("GET", "/api/v1/namespaces")[0] == 401


def test_a_token_is_an_identity_too(new_server: NewServer, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,carol,7,"system:masters"\n')
    server = new_server(f"--token-auth-file={tokens}", "--authorization-mode=AlwaysDeny").start()
    with server.client("", token="secret") as carol, server.client("", token="guess") as guesser:
        assert carol.call("GET", "/api/v1/namespaces")[0] == 200
        assert guesser.call("GET", "/api/v1/namespaces")[0] == 401
