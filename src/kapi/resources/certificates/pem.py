"""PEM blocks, and what is in them. Texts around the blocks are no part of them, as in Go."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateSigningRequest

_BLOCK = re.compile(rb"-----BEGIN (?P<type>[^\n-]*)-----[ \t]*\r?\n(?P<body>.*?)-----END (?P=type)-----", re.DOTALL)
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


def signed(request: CertificateSigningRequest) -> bool:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return request.is_signature_valid
    except (UnsupportedAlgorithm, ValueError, TypeError):
        return False
