"""Certificates and their keys, as TLS secrets hold them: whether they go together."""

from __future__ import annotations

from collections.abc import Callable

from kapi.resources.certificates import pem


def pair_problem(certificate: bytes, key: bytes) -> str:
    """Why they are no pair, in Go's words; empty when they are one."""
    chain, problem = _find(certificate, "certificate", lambda kind: kind == "CERTIFICATE")
    if problem:
        return problem
    private, problem = _find(key, "key", lambda kind: kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY"))
    if problem:
        return problem
    leaf = pem.parse_certificate(chain)
    if leaf is None:
        return "x509: malformed certificate"
    return _mismatch(leaf, private)


def _find(text: bytes, what: str, wanted: Callable[[str], bool]) -> tuple[bytes, str]:
    skipped = []
    for block in pem.blocks(text):
        if wanted(block.type):
            return block.content, ""
        skipped.append(block.type)
    if not skipped:
        return b"", f"tls: failed to find any PEM data in {what} input"
    types = f"after skipping PEM blocks of the following types: [{' '.join(skipped)}]"
    if what == "key":
        if skipped == ["CERTIFICATE"]:
            return b"", "tls: found a certificate rather than a key in the PEM for the private key"
        return b"", f'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input {types}'
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        problem = "failed to find certificate PEM data in certificate input, but did find a private key"
        return b"", f"tls: {problem}; PEM inputs may have been switched"
    return b"", f'tls: failed to find "CERTIFICATE" PEM block in certificate input {types}'


def _mismatch(leaf: object, key: bytes) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key
    from cryptography.x509 import Certificate

    assert isinstance(leaf, Certificate)
    try:
        private = load_der_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    same = private.public_key().public_bytes(*form) == leaf.public_key().public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
