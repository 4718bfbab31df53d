"""A memory engine behind encryption, so that the contract's tests can ask it too."""

from __future__ import annotations

from kapi.api.clock import SystemClock
from kapi.api.gvk import GroupResource
from kapi.storage.encryption.aes import GCM
from kapi.storage.encryption.encrypted import EncryptedKV
from kapi.storage.encryption.encryption import Encryption
from kapi.storage.encryption.load import Environment, Loaded
from kapi.storage.encryption.metrics import EncryptionMetrics
from kapi.storage.encryption.providers import Prefixed
from kapi.storage.memory import MemoryKV
from kapi.telemetry.metrics import Registry

THINGS = GroupResource("", "things")


class EncryptedMemory(EncryptedKV):
    def __init__(self) -> None:
        metrics = EncryptionMetrics(Registry())
        provider = Prefixed(b"k8s:enc:test:", GCM(bytes(32)))
        loaded = Loaded(hash="", metrics=metrics, rules={THINGS: [lambda _: provider]})
        environment = Environment(clock=SystemClock(), metrics=metrics)
        super().__init__(MemoryKV(), Encryption("", environment, loaded), THINGS)
