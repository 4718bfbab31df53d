"""KMS v1: a data key for every write, encrypted by the plugin and stored in front of the value."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from struct import pack

from kapi.storage.encryption.aes import GCMOrCBC
from kapi.storage.encryption.kms.plugin import PluginV1
from kapi.storage.encryption.metrics import EncryptionMetrics
from kapi.storage.encryption.transformer import KeyMissing, TransformError

_KEY = 32
_LENGTH = 2


class EnvelopeV1:
    """The length of the encrypted key in two bytes, the encrypted key, the value under it.

    `cache_size` data keys are kept; with none, a key is kept just long enough to be used by who fetched it.
    """

    def __init__(self, plugin: PluginV1, cache_size: int, metrics: EncryptionMetrics) -> None:
        self._plugin = plugin
        self._cache_size = max(cache_size, 0)
        self._metrics = metrics
        self._keys: OrderedDict[bytes, GCMOrCBC] = OrderedDict()
        self._fetched: dict[bytes, GCMOrCBC] = {}

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        length = int.from_bytes(data[:_LENGTH], "big")
        if len(data) < _LENGTH + length:
            raise TransformError(
                "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data"
            )
        key, sealed = data[_LENGTH : _LENGTH + length], data[_LENGTH + length :]
        transformer = self._keys.get(key) or self._fetched.pop(key, None)
        if transformer is None:
            raise KeyMissing(lambda: self._fetch(key))
        if self._cache_size:
            self._keep(key, transformer)
        return transformer.from_storage(sealed, context)

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        began = time.perf_counter()
        plain = os.urandom(_KEY)
        self._metrics.key_generation.observe(time.perf_counter() - began)
        key = await self._plugin.encrypt(plain)
        transformer = GCMOrCBC(plain)
        if self._cache_size:
            self._keep(key, transformer)
        return pack(">H", len(key)) + key + await transformer.to_storage(data, context)

    async def _fetch(self, key: bytes) -> None:
        if self._cache_size:
            self._metrics.cache_misses.inc()
        plain = await self._plugin.decrypt(key)
        if len(plain) not in (16, 24, 32):
            raise TransformError(f"crypto/aes: invalid key size {len(plain)}")
        self._fetched[key] = GCMOrCBC(plain)

    def _keep(self, key: bytes, transformer: GCMOrCBC) -> None:
        self._keys[key] = transformer
        self._keys.move_to_end(key)
        if len(self._keys) > self._cache_size:
            self._keys.popitem(last=False)
        self._metrics.cache_fill.set(len(self._keys) / self._cache_size)
