"""AES: GCM with random nonces, GCM with a key derived for each write, and CBC."""

from __future__ import annotations

import os
from collections import OrderedDict

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from kapi.storage.encryption.transformer import TOO_SHORT, TransformError

_NONCE = 12
_TAG = 16
_BLOCK = 16
_INFO = 32
_DERIVED = 32
SEED = 32
_DERIVED_KEYS = 4096


class GCM:
    """A nonce of 12 bytes, the ciphertext, the tag; the storage key is authenticated."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _NONCE:
            raise TransformError(TOO_SHORT)
        try:
            return self._aead.decrypt(data[:_NONCE], data[_NONCE:], context), False
        except (InvalidTag, ValueError):
            raise TransformError("cipher: message authentication failed") from None

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._aead.encrypt(nonce, data, context)


class ExtendedNonceGCM:
    """Each write under a key of its own: HKDF-Expand of the seed with 32 random bytes, which stand in front."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) < SEED:
            raise TransformError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed
        self._derived: OrderedDict[bytes, GCM] = OrderedDict()

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _INFO:
            raise TransformError(TOO_SHORT)
        return self._key(data[:_INFO]).from_storage(data[_INFO:], context)

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        info = os.urandom(_INFO)
        return info + await self._key(info).to_storage(data, context)

    def _key(self, info: bytes) -> GCM:
        found = self._derived.get(info)
        if found is None:
            found = GCM(HKDFExpand(SHA256(), _DERIVED, info).derive(self._seed))
            self._derived[info] = found
            if len(self._derived) > _DERIVED_KEYS:
                self._derived.popitem(last=False)
        return found


class CBCMode:
    """An initialization vector of 16 bytes, then blocks padded as PKCS #7 says. Nothing is authenticated."""

    def __init__(self, key: bytes) -> None:
        self._algorithm = AES(key)

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if len(data) < _BLOCK:
            raise TransformError(TOO_SHORT)
        if len(data) % _BLOCK:
            raise TransformError("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._algorithm, CBC(data[:_BLOCK])).decryptor()
        padded = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
        padding = padded[-1] if padded else 0
        if not 0 < padding <= len(padded):
            raise TransformError("invalid PKCS7 data (empty or not padded)")
        if padded[-padding:] != bytes((padding,)) * padding:
            raise TransformError("invalid padding on input")
        return padded[:-padding], False

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        padding = _BLOCK - len(data) % _BLOCK
        vector = os.urandom(_BLOCK)
        encryptor = Cipher(self._algorithm, CBC(vector)).encryptor()
        return vector + encryptor.update(data + bytes((padding,)) * padding) + encryptor.finalize()


class GCMOrCBC:
    """What KMS v1 has written over the years: GCM now, CBC before 1.25, which is stale."""

    def __init__(self, key: bytes) -> None:
        self._gcm = GCM(key)
        self._cbc = CBCMode(key)

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        try:
            return self._gcm.from_storage(data, context)
        except TransformError as first:
            try:
                return self._cbc.from_storage(data, context)[0], True
            except TransformError as second:
                raise TransformError(f"[{first}, {second}]") from None

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        return await self._gcm.to_storage(data, context)
