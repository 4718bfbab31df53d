"""The way to nodes: how a connection to a kubelet, a pod or a service is opened."""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol


class NodeDialer(Protocol):
    async def dial(
        self, host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to an address on or behind a node; OSError when there is no way."""


class DirectDialer:
    """Over the server's own network: what is used without tunnels."""

    def __init__(self, timeout: float = 30.0) -> None:
        self._timeout = timeout

    async def dial(
        self, host: str, port: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(self._timeout):
            return await asyncio.open_connection(host, port, ssl=tls)
