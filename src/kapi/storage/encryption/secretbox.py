"""NaCl's secretbox: XSalsa20 and Poly1305, with a random nonce of 24 bytes in front."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

from kapi.storage.encryption.salsa20 import xsalsa20_stream
from kapi.storage.encryption.transformer import TOO_SHORT, TransformError

_NONCE = 24
_TAG = 16
_POLY_KEY = 32


def seal(key: bytes, nonce: bytes, message: bytes) -> bytes:
    """The tag, then the message encrypted."""
    stream = xsalsa20_stream(key, nonce, _POLY_KEY + len(message))
    sealed = _xor(message, stream[_POLY_KEY:])
    return Poly1305.generate_tag(stream[:_POLY_KEY], sealed) + sealed


def unseal(key: bytes, nonce: bytes, box: bytes) -> bytes | None:
    """The message; None when the tag is not of this key and these bytes."""
    tag, sealed = box[:_TAG], box[_TAG:]
    stream = xsalsa20_stream(key, nonce, _POLY_KEY + len(sealed))
    try:
        Poly1305.verify_tag(stream[:_POLY_KEY], sealed, tag)
    except InvalidSignature:
        return None
    return _xor(sealed, stream[_POLY_KEY:])


class Secretbox:
    """Unlike AES-GCM it does not bind a value to its place: the format has no room for that."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _NONCE + _TAG:
            raise TransformError(TOO_SHORT)
        message = unseal(self._key, data[:_NONCE], data[_NONCE:])
        if message is None:
            raise TransformError("output array was not large enough for encryption")  # upstream's words for a bad tag
        return message, False

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + seal(self._key, nonce, data)


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(len(one), "little")
