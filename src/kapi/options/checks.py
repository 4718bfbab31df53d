"""Checks of single values: each says what is wrong, or None. Flags name them in their declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s*(.*?)-----END \1-----", re.DOTALL)
_PRIVATE = frozenset((b"PRIVATE KEY", b"RSA PRIVATE KEY", b"EC PRIVATE KEY"))
_PUBLIC = _PRIVATE | {b"PUBLIC KEY", b"RSA PUBLIC KEY", b"CERTIFICATE"}


def not_negative(value: float) -> str | None:
    return "can not be negative value" if value < 0 else None


def port(value: int) -> str | None:
    return None if 0 <= value <= 65535 else f"{value} must be between 0 and 65535, inclusive"


def one_of(*allowed: str) -> Callable[[str], str | None]:
    def check(value: str) -> str | None:
        return None if value in allowed else f'"{value}" invalid, allowed values: {", ".join(allowed)}'

    return check


def no_blanks(values: Sequence[str]) -> str | None:
    return "empty value" if any(not value.strip() for value in values) else None


def readable(path: str) -> str | None:
    if not path:
        return None
    content = _read(path)
    return content if isinstance(content, str) else None


def certificates(path: str) -> str | None:
    """A bundle of CA certificates that a TLS context takes."""
    import ssl  # not needed for help, version and most errors

    if not path:
        return None
    problem = readable(path)
    if problem is not None:
        return problem
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cafile=path)
    except (ssl.SSLError, ValueError):
        return f"{path} holds no valid certificate"
    return None


def private_key(path: str) -> str | None:
    return _keys(path, _PRIVATE, "private key") if path else None


def verification_keys(paths: Sequence[str]) -> str | None:
    """Files that each hold public keys, certificates, or private keys whose public half is meant."""
    problems = (_keys(path, _PUBLIC, "public or private key") for path in paths)
    return next(filter(None, problems), None)


def pair(cert_file: str, key_file: str) -> str | None:
    """A certificate and the key that belongs to it."""
    import ssl  # as in `certificates`

    problem = readable(cert_file) or readable(key_file)
    if problem is not None:
        return problem
    try:
        # The password spares a prompt: an encrypted key is an error, not a question.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert_file, key_file, password="")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not a PEM certificate and key"
        return f"{cert_file} and {key_file} are no valid pair: {reason}"
    return None


def _keys(path: str, labels: frozenset[bytes], what: str) -> str | None:
    """Whether there is a well-formed key. The algorithm is left to its user: parsing it costs a tenth of a second."""
    content = _read(path)
    if isinstance(content, str):
        return content
    blocks = [body for label, body in _PEM.findall(content) if label in labels]
    return None if blocks and all(map(_is_der, blocks)) else f"{path} holds no valid {what}"


def _is_der(body: bytes) -> bool:
    """Whether it is base64 of one ASN.1 sequence, whole."""
    import base64  # only where a key is given
    import binascii

    try:
        der = base64.b64decode(b"".join(body.split()), validate=True)
    except binascii.Error:
        return False
    if len(der) < 4 or der[0] != 0x30:
        return False
    if der[1] < 0x80:
        return len(der) == 2 + der[1]
    width = der[1] & 0x7F
    return len(der) == 2 + width + int.from_bytes(der[2 : 2 + width], "big")


def _read(path: str) -> bytes | str:
    """The file's bytes, or why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return f"open {path}: {(error.strerror or str(error)).lower()}"
