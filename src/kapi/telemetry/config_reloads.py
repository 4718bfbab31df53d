"""How a configuration file that may change fares: reloads by result, when the last was, and which content is in use."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from kapi.telemetry.metrics import Registry


class ConfigReloads:
    """`subject` is what is configured, as the metrics' names tell it: authentication, authorization."""

    def __init__(self, registry: Registry, subject: str, server_id: str, now: Callable[[], float]) -> None:
        prefix = f"apiserver_{subject}_config_controller"
        labels = ("status", "apiserver_id_hash")
        self._total = registry.counter(
            f"{prefix}_automatic_reloads_total",
            f"Total number of automatic reloads of {subject} configuration split by status and apiserver identity.",
            labels,
        )
        self._last = registry.gauge(
            f"{prefix}_automatic_reload_last_timestamp_seconds",
            f"Timestamp of the last automatic reload of {subject} configuration split by status and apiserver "
            "identity.",
            labels,
        )
        self._info = registry.gauge(
            f"{prefix}_last_config_info",
            f"Information about the last applied {subject} configuration with hash as label, split by apiserver "
            "identity.",
            ("apiserver_id_hash", "hash"),
        )
        self._id = _hash(server_id.encode())
        self._now = now

    def applied(self, content: bytes) -> None:
        self._info.values.clear()
        self._info.set(1, (self._id, _hash(content)))

    def succeeded(self, content: bytes) -> None:
        self._count("success")
        self.applied(content)

    def failed(self) -> None:
        self._count("failure")

    def _count(self, status: str) -> None:
        self._total.inc((status, self._id))
        self._last.set(self._now(), (status, self._id))


def _hash(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}" if content else ""
