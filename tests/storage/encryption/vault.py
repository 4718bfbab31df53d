"""Secrets in a store behind encryption, configured by a real file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from kapi.api.clock import SystemClock
from kapi.api.gvk import GroupResource
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Shape
from kapi.storage.encryption.encrypted import EncryptedKV
from kapi.storage.encryption.encryption import Encryption
from kapi.storage.encryption.load import Environment
from kapi.storage.encryption.metrics import EncryptionMetrics
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import ObjectStore
from kapi.telemetry.metrics import Registry

SECRETS = GroupResource("", "secrets")
SCOPE = "/registry/secrets/default/"
SHAPE = Shape(kind="Secret", api_version="v1", fields_of=lambda decoded: {})


def key(name: str, letter: str, size: int = 32) -> dict[str, str]:
    return {"name": name, "secret": base64.b64encode(letter.encode() * size).decode()}


def keyed(kind: str, *keys: dict[str, str]) -> dict[str, Any]:
    return {kind: {"keys": list(keys)}}


class Configuration:
    """The file, and what it is loaded with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.registry = Registry()
        self.metrics = EncryptionMetrics(self.registry)
        self.clock: Any = SystemClock()

    def write(self, *providers: Any, resources: tuple[str, ...] = ("secrets",)) -> None:
        self.write_entries({"resources": list(resources), "providers": list(providers)})

    def write_entries(self, *entries: Any) -> None:
        content = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
        self.path.write_text(json.dumps(content | {"resources": list(entries)}))

    async def start(self, *, reload: bool = False, kms_v1: bool = False) -> Encryption:
        environment = Environment(clock=self.clock, metrics=self.metrics, reload=reload, kms_v1=kms_v1)
        return await Encryption.start(str(self.path), environment)

    def metric(self, name: str) -> list[str]:
        return [line for line in self.registry.text().decode().splitlines() if line.startswith(name)]


class Vault:
    """Secrets in a store: `engine` is what is below encryption, `objects` what is above."""

    def __init__(self, configuration: Configuration, engine: MemoryKV, encryption: Encryption) -> None:
        self.configuration = configuration
        self.engine = engine
        self.encryption = encryption
        self.reopen(encryption)

    def reopen(self, encryption: Encryption, *, cached: bool = True) -> None:
        """The same store, as a server that starts with this encryption sees it."""
        self.encryption = encryption
        self.kv = EncryptedKV(self.engine, encryption, SECRETS)
        self.cacher = Cacher(self.kv, "/registry/secrets/", SHAPE, SystemClock())
        self.objects = ObjectStore(self.kv, self.cacher, cached=cached, is_stale=self.kv.is_stale)

    async def create(self, name: str, data: str = "hidden") -> None:
        value = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}, "stringData": {"data": data}}
        await self.objects.create(SCOPE + name, self.objects.encode(value))

    async def read(self, name: str) -> str:
        entry = await self.objects.get(SCOPE + name, None)
        assert entry is not None
        return entry.object["stringData"]["data"]

    async def stored(self, name: str) -> bytes:
        found, _ = await self.engine.get(SCOPE + name)
        assert found is not None
        return found.value
