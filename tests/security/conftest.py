"""A server that asks for credentials and permissions, and clients that send it bytes no client library would."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.server_process import PATIENCE, Server

TOKENS = 'alice-token,alice,1\nroot-token,root,2,"system:masters"\n'


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """alice may do nothing, root everything; use names of your own."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "tokens.csv").write_text(TOKENS)
    key = rsa.generate_private_key(65537, 2048)
    signing = folder / "signing.key"
    signing.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    server = Server(
        folder,
        "--service-account-issuer=https://issuer.example",
        f"--service-account-signing-key-file={signing}",
        f"--service-account-key-file={signing}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--enable-admission-plugins=DenyServiceExternalIPs",
    )
    try:
        yield server.start()
        assert "Traceback" not in server.said
        assert server.stop() == 0
    finally:
        server.end()


@pytest.fixture
def root(guarded: Server):
    with guarded.client("", token="root-token") as client:
        yield client


@pytest.fixture
def raw(guarded: Server) -> Callable[[bytes], list[bytes]]:
    """Sends bytes on a connection of its own, without a client certificate; the answers until the server hangs up."""

    def send(data: bytes) -> list[bytes]:
        context = guarded.tls("")
        with (
            socket.create_connection(("127.0.0.1", guarded.port), PATIENCE) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            connection.sendall(data)
            received = b""
            while piece := connection.recv(1 << 16):
                received += piece
        first, *answers = received.split(b"HTTP/1.1 ")
        assert first == b""
        return answers

    return send
