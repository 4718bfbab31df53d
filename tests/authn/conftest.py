"""Calls with credentials, and a certificate authority that issues whatever a test asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from kapi.api.call import Call
from kapi.wire.messages import Headers

NOW = 1_800_000_000.0
UID = ObjectIdentifier("1.3.6.1.4.1.57683.2")


class FakeConnection:
    remote = ("192.0.2.7", 4711)
    secure = True

    def __init__(self, certificate: bytes | None) -> None:
        self.identity: Any = None
        self.certificate = certificate
        self.asked = 0

    def peer_certificate(self) -> bytes | None:
        self.asked += 1
        return self.certificate

    def peer_intermediates(self) -> list[bytes]:
        return []

    def go_away(self) -> None: ...


class FakeRequest:
    method, path, query, protocol = "GET", "/api", "", "HTTP/1.1"

    def __init__(self, headers: dict[str, str], certificate: bytes | None) -> None:
        self.headers = Headers([(k.encode(), v.encode()) for k, v in headers.items()])
        self.connection = FakeConnection(certificate)

    async def body(self, limit: int) -> bytes:
        return b""

    def on_disconnect(self, callback: Callable[[], None]) -> None: ...


class FakeClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class Issued:
    """A certificate and its key; it can issue others, whether it may or not."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self._key = key
        self.der = certificate.public_bytes(serialization.Encoding.DER)
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, common_name: str | None = "bob", **more: Any) -> Issued:
        return _issue(self, common_name, **more)


def _issue(
    issuer: Issued | None,
    common_name: str | None,
    *,
    organizations: tuple[str, ...] = (),
    uids: tuple[str, ...] = (),
    usage: tuple[ObjectIdentifier, ...] | None = (ExtendedKeyUsageOID.CLIENT_AUTH,),
    ca: bool | None = None,
    path_length: int | None = None,
    not_before: float = NOW - 3600,
    not_after: float = NOW + 3600,
    critical: x509.ExtensionType | None = None,
) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
    attributes += [x509.NameAttribute(UID, u) for u in uids]
    attributes += [x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name is not None else []
    subject = x509.Name(attributes)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(not_before, UTC) + timedelta(0))
        .not_valid_after(datetime.fromtimestamp(not_after, UTC))
    )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
    if usage is not None and not ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    if critical is not None:
        builder = builder.add_extension(critical, critical=True)
    return Issued(builder.sign(issuer._key if issuer else key, hashes.SHA256()), key)


@pytest.fixture(scope="session")
def authority() -> Issued:
    return _issue(None, "the-ca", ca=True)


@pytest.fixture(scope="session")
def other_authority() -> Issued:
    return _issue(None, "another-ca", ca=True)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def new_call() -> Callable[..., Call]:
    def make(authorization: str | None = None, certificate: bytes | None = None) -> Call:
        headers = {"authorization": authorization} if authorization is not None else {}
        return Call(FakeRequest(headers, certificate), 0.0)

    return make


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    def go(awaitable: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await awaitable

        return asyncio.run(main())

    return go
