"""KMS v2: values under keys derived from a seed that the plugin has encrypted; its ciphertext is stored along."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from struct import pack
from typing import Protocol

from google.protobuf.message import DecodeError

from kapi.api.names import dns_subdomain
from kapi.storage.encryption.aes import GCM, ExtendedNonceGCM
from kapi.storage.encryption.kms import kms_pb2 as pb
from kapi.storage.encryption.kms.plugin import PluginV2
from kapi.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, EncryptionMetrics, hash_of
from kapi.storage.encryption.transformer import KeyMissing, Reader, TransformError

SEEDED = pb.HKDF_SHA256_XNONCE_AES_GCM_SEED
_KINDS = (pb.AES_GCM_KEY, SEEDED)
_MAX_KEY_ID = 1024
_MAX_SOURCE = 1024
_MAX_ANNOTATIONS = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What values are written with: a seed, and what has to be stored so that the plugin gives it back."""

    transformer: ExtendedNonceGCM
    key_id: str
    source: bytes
    annotations: Mapping[str, bytes]

    @property
    def cache_key(self) -> bytes:
        return cache_key(SEEDED, self.source, self.key_id, self.annotations)

    def sealed(self, data: bytes) -> pb.EncryptedObject:
        return pb.EncryptedObject(
            encrypted_data=data,
            key_id=self.key_id,
            encrypted_dek_source=self.source,
            annotations=dict(self.annotations),
            encrypted_dek_source_type=SEEDED,
        )


class Seeds(Protocol):
    """Where the seed that writes comes from. Both raise TransformError."""

    name: str

    @property
    def seed(self) -> Seed: ...

    def check_writable(self) -> None: ...


class EnvelopeV2:
    """Readers of seeds are kept for good, by the hash of what is stored of a seed.

    There are as many as there were starts and key ids, and a watcher must be able to read whatever was read before.
    """

    def __init__(self, plugin: PluginV2, seeds: Seeds, metrics: EncryptionMetrics) -> None:
        self._plugin = plugin
        self._seeds = seeds
        self._name = seeds.name
        self._metrics = metrics
        self._readers: dict[bytes, Reader] = {}

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        stored = _decode(data)
        current = self._seeds.seed
        kind = stored.encrypted_dek_source_type
        key = cache_key(kind, stored.encrypted_dek_source, stored.key_id, stored.annotations)
        reader = self._readers.get(key)
        if reader is None:
            raise KeyMissing(lambda: self._fetch(key, stored))
        self._metrics.key_ids.use(FROM_STORAGE, self._name, hash_of(stored.key_id))
        value, stale = reader.from_storage(stored.encrypted_data, context)
        return value, stale or stored.key_id != current.key_id or kind != SEEDED

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        current = self._seeds.seed
        self._seeds.check_writable()
        self._keep(current.cache_key, current.transformer)
        stored = current.sealed(await current.transformer.to_storage(data, context))
        self._metrics.key_ids.use(TO_STORAGE, self._name, hash_of(current.key_id))
        serialized: bytes = stored.SerializeToString()
        return serialized

    async def _fetch(self, key: bytes, stored: pb.EncryptedObject) -> None:
        self._metrics.cache_misses.inc()
        try:
            plain = await self._plugin.decrypt(str(uuid.uuid4()), stored)
        except TransformError as error:
            raise TransformError(f"failed to decrypt DEK, error: {error}", error.status) from None
        if stored.encrypted_dek_source_type == SEEDED:
            self._keep(key, ExtendedNonceGCM(plain))
        elif len(plain) in (16, 24, 32):
            self._keep(key, GCM(plain))
        else:
            raise TransformError(f"crypto/aes: invalid key size {len(plain)}")

    def _keep(self, key: bytes, reader: Reader) -> None:
        if key not in self._readers:
            self._readers[key] = reader
            self._metrics.cached_keys.set(len(self._readers), (self._name,))


def cache_key(kind: int, source: bytes, key_id: str, annotations: Mapping[str, bytes]) -> bytes:
    """Every part with its length in front, so that no two things have the same key."""
    parts = [source, key_id.encode()]
    for name in sorted(annotations):
        parts += (name.encode(), annotations[name])
    return sha256(pack(">I", kind) + b"".join(pack(">I", len(part)) + part for part in parts)).digest()


def validate(stored: pb.EncryptedObject) -> None:
    """Raises TransformError in upstream's words."""
    if stored.encrypted_dek_source_type not in _KINDS:
        raise TransformError(f"unknown encryptedDEKSourceType: {stored.encrypted_dek_source_type}")
    if not stored.encrypted_data:
        raise TransformError("encrypted data is empty")
    source = len(stored.encrypted_dek_source)
    if problem := _size_problem("encrypted DEK source", source, _MAX_SOURCE):
        raise TransformError(f"failed to validate encrypted DEK source: {problem}")
    if problem := key_id_problem(stored.key_id)[1]:
        raise TransformError(f"failed to validate key id: {problem}")
    if problem := _annotations_problem(stored.annotations):
        raise TransformError(f"failed to validate annotations: {problem}")


def key_id_problem(key_id: str) -> tuple[str, str]:
    """A code for the metric, and the problem; empty when there is none."""
    size = len(key_id.encode())
    return "" if not (
        problem := _size_problem("keyID", size, _MAX_KEY_ID)
    ) else "too_long" if size else "empty", problem


def _size_problem(what: str, size: int, limit: int) -> str:
    if not size:
        return f"{what} is empty"
    return f"{what} is {size} bytes, which exceeds the max size of {limit}" if size > limit else ""


def _annotations_problem(annotations: Mapping[str, bytes]) -> str:
    problems = [f'annotations: Invalid value: "{name}": {why}' for name in annotations for why in _name_problems(name)]
    total = sum(len(name.encode()) + len(value) for name, value in annotations.items())
    if total > _MAX_ANNOTATIONS:
        problems.append(f"total size of annotations is {total}, which exceeds the max size of {_MAX_ANNOTATIONS}")
    return problems[0] if len(problems) < 2 and problems else f"[{', '.join(problems)}]" if problems else ""


def _name_problems(name: str) -> list[str]:
    """Annotations are named by fully qualified domain names."""
    bare = name.removesuffix(".")
    if problems := dns_subdomain(bare):
        return problems
    return [] if "." in bare else ["should be a domain with at least two segments separated by dots"]


def _decode(data: bytes) -> pb.EncryptedObject:
    try:
        stored: pb.EncryptedObject = pb.EncryptedObject.FromString(data)
    except DecodeError as error:
        raise TransformError(f"proto: {error}") from None
    validate(stored)
    return stored
