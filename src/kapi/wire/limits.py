"""Limits: what one client may cost. The defaults are those of kube-apiserver's own server."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    header_bytes: int = 1024 * KIB
    header_timeout: float = 32.0  # for the TLS handshake, the first request's head, and every later head once begun
    idle_timeout: float = 90.0
    stall_timeout: float = 120.0  # a client that takes nothing of what waits for it
    max_streams: int = 250
    stream_window: int = 256 * KIB
    max_frame: int = 256 * KIB
    disable_http2: bool = False

    @property
    def connection_window(self) -> int:
        """Every stream may fill its own window."""
        return min(self.stream_window * self.max_streams, 0x7FFFFFFF)
