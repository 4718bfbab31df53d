"""PEM blocks, and what is in them. Texts around the blocks are no part of them, as in Go."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateSigningRequest

_BLOCK = re.compile(
    rb"(?m:^)-----BEGIN (?P<type>[^\n-]*)-----[ \t]*\r?\n(?P<body>.*?)(?m:^)-----END (?P=type)-----[ \t\r]*(?m:$)",
    re.DOTALL,
)
_SEQUENCE = 0x30
_HEADER = re.compile(rb"[^\n:]*:[^\n]*\r?\n")


class Block(NamedTuple):
    type: str
    headers: bool
    content: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """What is not properly encoded is passed over."""
    for match in _BLOCK.finditer(text):
        body, headers = match["body"], False
        while header := _HEADER.match(body):
            body, headers = body[header.end() :], True
        try:
            content = base64.b64decode(re.sub(rb"\s", b"", body), validate=True)
        except binascii.Error:
            continue
        yield Block(match["type"].decode("utf-8", "replace"), headers, content)


def decode(field: str | None) -> bytes:
    """A field that holds bytes; its encoding has been checked."""
    return base64.b64decode(field or "")


def parse_certificate(content: bytes) -> Certificate | None:
    # Only needed for these kinds.
    from cryptography import x509

    try:
        return x509.load_der_x509_certificate(content)
    except ValueError:
        return None


def parse_request(content: bytes) -> CertificateSigningRequest | None:
    """A PKCS#10 request, its signature not yet checked."""
    from cryptography import x509

    try:
        return x509.load_der_x509_csr(content)
    except ValueError:
        return None


def why_malformed(content: bytes) -> str:
    """What is wrong with the sequence that a request is, in Go's words, as far as its head tells."""
    if not content:
        return "asn1: syntax error: sequence truncated"
    if len(content) < 2:
        return "asn1: syntax error: truncated tag or length"
    head, length = 2, content[1]
    if length & 0x80:
        head += length & 0x7F
        length = int.from_bytes(content[2:head], "big")
    if content[0] != _SEQUENCE:
        first = content[0]
        found = f"class:{first >> 6} tag:{first & 0x1F} length:{length} isCompound:{str(bool(first & 0x20)).lower()}"
        return (
            f"asn1: structure error: tags don't match (16 vs {{{found}}}) {{optional:false explicit:false "
            "application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false "
            f"omitEmpty:false}} certificateRequest @{head}"
        )
    if head + length > len(content):
        return "asn1: syntax error: data truncated"
    return "asn1: structure error: malformed certificate request"


def why_unsigned(request: CertificateSigningRequest) -> str:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = request.public_key()
    if isinstance(key, EllipticCurvePublicKey):
        return "x509: ECDSA verification failure"
    if isinstance(key, Ed25519PublicKey):
        return "x509: Ed25519 verification failure"
    return "crypto/rsa: verification error"


def signed(request: CertificateSigningRequest) -> bool:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return request.is_signature_valid
    except (UnsupportedAlgorithm, ValueError, TypeError):
        return False
