"""What encryption tells of itself, under upstream's names. Registered only where encryption is configured."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256

from kapi.telemetry.metrics import Computed, Counter, Labels, Registry

FROM_STORAGE = "from_storage"
TO_STORAGE = "to_storage"
OK = "OK"
_KEY_IDS = 100  # label values kept, the last used: key ids come from outside


def _exponential(start: float, count: int) -> list[float]:
    return [start * 2**i for i in range(count)]


class EncryptionMetrics:
    def __init__(self, registry: Registry) -> None:
        storage, envelope = "apiserver_storage", "apiserver_envelope_encryption"
        self.operations = registry.counter(
            f"{storage}_transformation_operations_total",
            "Total number of transformations. Successful transformation will have a status 'OK' and a varied status "
            "string when the transformation fails.",
            ("resource", "transformation_type", "transformer_prefix", "status"),
        )
        self.durations = registry.histogram(
            f"{storage}_transformation_duration_seconds",
            "Latencies in seconds of value transformation operations.",
            _exponential(5e-6, 25),
            ("transformation_type", "transformer_prefix"),
        )
        self.cache_misses = registry.counter(
            f"{storage}_envelope_transformation_cache_misses_total",
            "Total number of cache misses while accessing key decryption key(KEK).",
        )
        self.key_generation = registry.histogram(
            f"{storage}_data_key_generation_duration_seconds",
            "Latencies in seconds of data encryption key(DEK) generation operations.",
            _exponential(5e-6, 14),
        )
        self.kms_operations = registry.histogram(
            f"{envelope}_kms_operations_latency_seconds",
            "KMS operation duration with gRPC error code status total.",
            _exponential(0.0001, 20),
            ("provider_name", "method_name", "grpc_status_code"),
        )
        self.invalid_key_ids = registry.counter(
            f"{envelope}_invalid_key_id_from_status_total",
            "Number of times an invalid keyID is returned by the Status RPC call split by error.",
            ("provider_name", "error"),
        )
        self.cached_keys = registry.gauge(
            f"{envelope}_dek_source_cache_size",
            "Number of records in data encryption key (DEK) source cache.",
            ("provider_name",),
        )
        self.cache_fill = registry.gauge(
            f"{envelope}_dek_cache_fill_percent", "Percent of the cache slots currently occupied by cached DEKs."
        )
        self.key_ids = KeyIds(registry)
        self.reloads = Reloads(registry)

    def record(self, resource: str, kind: str, prefix: str, seconds: float, status: str = OK) -> None:
        self.operations.inc((resource, kind, prefix, status))
        if status == OK:
            self.durations.observe(seconds, (kind, prefix))


class KeyIds:
    """Which of a plugin's keys are in use: counts and times by the key id's hash, for the hundred used last."""

    def __init__(self, registry: Registry) -> None:
        prefix, labels = "apiserver_envelope_encryption_key_id_hash", ("provider_name", "key_id_hash")
        used = ("transformation_type", *labels, "apiserver_id_hash")
        self._total = registry.counter(
            f"{prefix}_total",
            "Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
            used,
        )
        self._last = registry.gauge(
            f"{prefix}_last_timestamp_seconds", "The last time in seconds when a keyID was used.", used
        )
        self._status = registry.gauge(
            f"{prefix}_status_last_timestamp_seconds",
            "The last time in seconds when a keyID was returned by the Status RPC call.",
            (*labels, "apiserver_id_hash"),
        )
        self._used: OrderedDict[Labels, None] = OrderedDict()
        self._told: OrderedDict[Labels, None] = OrderedDict()

    def use(self, kind: str, provider: str, key_id_hash: str) -> None:
        labels = (kind, provider, key_id_hash, "")
        self._total.inc(labels)
        self._last.set(time.time(), labels)
        _keep(self._used, labels, self._total, self._last)

    def told(self, provider: str, key_id_hash: str) -> None:
        labels = (provider, key_id_hash, "")
        self._status.set(time.time(), labels)
        _keep(self._told, labels, self._status)


class Reloads:
    """How reloading the configuration went."""

    def __init__(self, registry: Registry) -> None:
        prefix, labels = "apiserver_encryption_config_controller", ("status", "apiserver_id_hash")
        self._total = registry.counter(
            f"{prefix}_automatic_reloads_total",
            "Total number of reload successes and failures of encryption configuration split by apiserver identity.",
            labels,
        )
        self._last = registry.gauge(
            f"{prefix}_automatic_reload_last_timestamp_seconds",
            "Timestamp of the last successful or failed automatic reload of encryption configuration split by "
            "apiserver identity.",
            labels,
        )
        self.applied = ""  # the hash of the configuration in use
        registry.register(
            Computed(
                f"{prefix}_last_config_info",
                "Information about the last applied encryption configuration with hash as label, split by apiserver "
                "identity.",
                self._info,
                labels=("apiserver_id_hash", "hash"),
            )
        )

    def record(self, status: str) -> None:
        self._total.inc((status, ""))
        self._last.set(time.time(), (status, ""))

    def _info(self) -> Iterable[tuple[Labels, float]]:
        return [(("", self.applied), 1)] if self.applied else []


def hash_of(text: str) -> str:
    return f"sha256:{sha256(text.encode()).hexdigest()}" if text else ""


def _keep(recent: OrderedDict[Labels, None], labels: Labels, *metrics: Counter) -> None:
    recent[labels] = None
    recent.move_to_end(labels)
    if len(recent) > _KEY_IDS:
        oldest, _ = recent.popitem(last=False)
        for metric in metrics:
            metric.values.pop(oldest, None)
