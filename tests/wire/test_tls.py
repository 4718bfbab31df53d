"""TLS: names, versions, ciphers, client certificates, reload. Real handshakes only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from kapi.wire.limits import Limits
from kapi.wire.messages import Request, Response, text
from kapi.wire.tls import SNICertificate, TLSConfig


async def who(request: Request) -> Response:
    certificate = request.connection.peer_certificate()
    if certificate is None:
        return text(200, "nobody")
    subject = x509.load_der_x509_certificate(certificate).subject
    return text(200, str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value))


async def served_name(listener: Any, name: str | None) -> str:
    """The common name of the certificate that the server shows to a client that asks for this name."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", listener.port, ssl=context, server_hostname=name or "")
    certificate = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(True))
    writer.transport.abort()
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def sni(pair: tuple[Path, Path], *names: str) -> SNICertificate:
    return SNICertificate(cert_file=str(pair[0]), key_file=str(pair[1]), names=names)


def test_the_certificate_follows_the_name(run: Any, world: Any) -> None:
    issue = world.authority.issue
    config = world.tls(
        sni=(
            sni(issue("exact"), "one.example"),
            sni(issue("wildcard"), "*.example", "one.example"),
            sni(issue("from-certificate", "inside.test", "*.inside.test", "10.0.0.1")),
        )
    )
    expected = {
        "one.example": "exact",
        "ONE.example": "exact",
        "two.example": "wildcard",
        "a.two.example": "localhost",
        "example": "localhost",
        "inside.test": "from-certificate",
        "x.inside.test": "from-certificate",
        "localhost": "localhost",
        None: "localhost",
    }

    async def main() -> None:
        async with world.serving(tls=config) as listener:
            seen = {name: await served_name(listener, name) for name in expected}
        assert seen == expected

    run(main())


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("server_name", ["localhost", "one.example"])
def test_a_client_certificate_of_any_authority_passes_the_handshake(
    run: Any, world: Any, tmp_path: Path, known: bool, version: ssl.TLSVersion, server_name: str
) -> None:
    stranger = tmp_path / "strange"
    stranger.mkdir()
    authority = world.authority if known else type(world.authority)(stranger, "stranger")
    pair = authority.issue("jane", client=True)
    config = world.tls(
        client_ca_files=(str(world.authority.file),), sni=(sni(world.authority.issue("one.example", "one.example")),)
    )

    async def main() -> None:
        context = world.client_context()
        context.load_cert_chain(*pair)
        context.minimum_version = context.maximum_version = version
        async with (
            world.serving(who, tls=config) as listener,
            world.h1(listener, ssl=context, server_hostname=server_name) as client,
        ):
            assert (await client.get())[2] == b"jane"

    run(main())


def test_no_client_certificate_is_no_certificate(run: Any, world: Any) -> None:
    async def main() -> None:
        config = world.tls(client_ca_files=(str(world.authority.file),))
        async with (
            world.serving(who, tls=config) as listener,
            world.h1(listener, ssl=world.client_context(), server_hostname="localhost") as client,
        ):
            assert (await client.get())[2] == b"nobody"

    run(main())


def test_clients_are_not_asked_without_a_client_authority(run: Any, world: Any) -> None:
    async def main() -> None:
        context = world.client_context()
        context.load_cert_chain(*world.authority.issue("jane", client=True))
        async with (
            world.serving(who, tls=world.tls()) as listener,
            world.h1(listener, ssl=context, server_hostname="localhost") as client,
        ):
            assert (await client.get())[2] == b"nobody"

    run(main())


def test_an_older_version_than_allowed_is_refused(run: Any, world: Any) -> None:
    async def main() -> None:
        context = world.client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        async with world.serving(tls=world.tls(min_version="VersionTLS13")) as listener:
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", listener.port, ssl=context, server_hostname="localhost")
            async with world.h1(listener, ssl=world.client_context(), server_hostname="localhost") as client:
                assert client.writer.get_extra_info("ssl_object").version() == "TLSv1.3"

    run(main())


def test_only_the_chosen_cipher_suites_are_offered(run: Any, world: Any) -> None:
    async def main() -> None:
        context = world.client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        config = world.tls(cipher_suites=("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"))
        async with world.serving(tls=config) as listener:
            async with world.h1(listener, ssl=context, server_hostname="localhost") as client:
                assert client.writer.get_extra_info("cipher")[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"
            context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", listener.port, ssl=context, server_hostname="localhost")

    run(main())


def test_only_the_preferred_curves_are_agreed_on(run: Any, world: Any) -> None:
    async def main() -> None:
        context = world.client_context()
        context.set_ecdh_curve("prime256v1")
        async with world.serving(tls=world.tls(curve_preferences=(24, 29))) as listener:
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", listener.port, ssl=context, server_hostname="localhost")
            context.set_ecdh_curve("secp384r1")
            async with world.h1(listener, ssl=context, server_hostname="localhost") as client:
                assert (await client.get())[0] == 200

    run(main())


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"min_version": "VersionTLS14"}, "VersionTLS13"),
        ({"cipher_suites": ("TLS_NONE",)}, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        ({"curve_preferences": (1,)}, "X25519"),
    ],
)
def test_unknown_names_are_refused_with_those_allowed(wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        TLSConfig(**{"cert_file": "a", "key_file": "b", **wrong})


def replace_pair(world: Any, pair: tuple[Path, Path]) -> None:
    """As tools do it: new files moved over the old ones."""
    for new, old in zip(pair, (world.cert, world.key), strict=True):
        copy = old.with_suffix(".new")
        shutil.copy(new, copy)
        os.replace(copy, old)


def test_changed_files_serve_new_connections_and_old_ones_live_on(run: Any, world: Any) -> None:
    async def main() -> None:
        async with (
            world.serving(tls=world.tls()) as listener,
            world.h1(listener, ssl=world.client_context(), server_hostname="localhost") as client,
        ):
            assert (await client.get())[0] == 200
            replace_pair(world, world.authority.issue("renewed", "localhost"))
            assert listener.reload()
            assert not listener.reload()
            assert await served_name(listener, "localhost") == "renewed"
            assert (await client.get())[0] == 200

    run(main())


def test_changed_files_are_noticed_without_being_told(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(tls=world.tls()) as listener:
            replace_pair(world, world.authority.issue("renewed", "localhost"))
            while await served_name(listener, "localhost") != "renewed":
                await asyncio.sleep(0.05)

    run(main())


def test_a_changed_client_authority_is_announced(run: Any, world: Any, tmp_path: Path) -> None:
    async def main() -> None:
        bundle = tmp_path / "clients.crt"
        shutil.copy(world.authority.file, bundle)
        async with world.serving(who, tls=world.tls(client_ca_files=(str(bundle),))) as listener:
            other = type(world.authority)(tmp_path, "other")
            bundle.write_bytes(bundle.read_bytes() + other.file.read_bytes())
            assert listener.reload()
            context = world.client_context()
            context.load_cert_chain(*other.issue("joe", client=True))
            async with world.h1(listener, ssl=context, server_hostname="localhost") as client:
                assert (await client.get())[2] == b"joe"

    run(main())


@pytest.mark.parametrize("breakage", ["garbage", "missing", "mismatch"])
def test_broken_files_keep_the_old_certificate_and_are_reported(run: Any, world: Any, breakage: str) -> None:
    async def main() -> None:
        async with world.serving(tls=world.tls()) as listener:
            good = world.cert.read_bytes(), world.key.read_bytes()
            if breakage == "garbage":
                world.cert.write_bytes(b"not a certificate")
            elif breakage == "missing":
                world.key.unlink()
            else:
                world.key.write_bytes(world.authority.issue("other")[1].read_bytes())
            assert not listener.reload()
            assert await served_name(listener, "localhost") == "localhost"
            assert {event for event, _ in world.log.events} == {"tls_reload_failed"}
            world.cert.write_bytes(good[0])
            world.key.write_bytes(good[1])
            assert not listener.reload()
            replace_pair(world, world.authority.issue("renewed", "localhost"))
            assert listener.reload()

    run(main())


def test_a_missing_certificate_fails_at_start(run: Any, world: Any) -> None:
    async def main() -> None:
        with pytest.raises(OSError):
            async with world.serving(tls=world.tls(cert_file=str(world.directory / "none"))):
                pass

    run(main())


def test_alpn_chooses_the_protocol(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(tls=world.tls()) as listener:
            for offered, chosen in (
                (("h2", "http/1.1"), "h2"),
                (("http/1.1",), "http/1.1"),
                ((), None),
            ):
                context = world.client_context(*offered)
                async with world.h1(listener, ssl=context, server_hostname="localhost") as client:
                    assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == chosen
                    if chosen != "h2":
                        assert (await client.get())[0] == 200

    run(main())


def test_a_handshake_that_never_ends_is_closed(run: Any, world: Any) -> None:
    async def main() -> None:
        async with (
            world.serving(tls=world.tls(), limits=Limits(header_timeout=0.3)) as listener,
            world.h1(listener) as client,
        ):
            client.send(b"\x16\x03\x01")
            with contextlib.suppress(ConnectionError):
                assert await client.reader.read() == b""

    run(main())


def test_plain_http_on_the_tls_port_is_told_so(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(tls=world.tls()) as listener, world.h1(listener) as client:
            status, _, body = await client.get()
            assert (status, body) == (400, b"Client sent an HTTP request to an HTTPS server.\n")

    run(main())


def test_a_client_hears_why_its_handshake_failed(run: Any, world: Any) -> None:
    async def main() -> None:
        context = world.client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        async with world.serving(tls=world.tls(min_version="VersionTLS13")) as listener:
            with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
                await asyncio.open_connection("127.0.0.1", listener.port, ssl=context, server_hostname="localhost")

    run(main())
