"""What turns a value into what is stored, and back.

Reading is synchronous wherever it can be: only a key that has to be fetched from a KMS plugin is waited for, and
`KeyMissing` says so. `context` is the storage key: ciphers that can bind a value to it, do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

TOO_SHORT = "the stored data was shorter than the required size"
_ENCRYPTED = b"k8s:enc:"


class TransformError(Exception):
    """A value cannot be encrypted or decrypted. `status` is for the metric: the plugin's, where it was asked."""

    def __init__(self, message: str, status: str = "unknown-non-grpc") -> None:
        super().__init__(message)
        self.status = status


class KeyMissing(Exception):
    """The value can be read after `fetch`, which raises TransformError when the key cannot be had."""

    def __init__(self, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__("the data key has to be fetched")
        self.fetch = fetch


class Reader(Protocol):
    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """The value, and whether it is stale: stored in a form that the next write replaces.

        Raises TransformError or KeyMissing.
        """


class Transformer(Reader, Protocol):
    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Raises TransformError."""


class Identity:
    """Values as they are, but nothing that is encrypted."""

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        if data.startswith(_ENCRYPTED):
            raise TransformError("identity transformer tried to read encrypted data")
        return data, False

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        return data
