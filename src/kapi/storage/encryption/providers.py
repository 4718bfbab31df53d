"""The providers of one resource: the first one writes, the one whose prefix a value has reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kapi.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, EncryptionMetrics
from kapi.storage.encryption.transformer import KeyMissing, Transformer, TransformError


@dataclass(frozen=True, slots=True)
class Prefixed:
    prefix: bytes
    transformer: Transformer


class Prefixes:
    """A transformer that chooses among others. What another than the first has written is stale.

    Providers of one kind share their prefix, so a failure is not the end: another one may have the key.
    """

    def __init__(self, no_match: str, choices: Sequence[Prefixed], metrics: EncryptionMetrics, resource: str) -> None:
        self._no_match = no_match
        self._choices = tuple(choices)
        self._metrics = metrics
        self._resource = resource

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        began = time.perf_counter()
        failures: list[TransformError] = []
        for number, choice in enumerate(self._choices):
            if not data.startswith(choice.prefix):
                continue
            try:
                value, stale = choice.transformer.from_storage(data[len(choice.prefix) :], context)
            except TransformError as error:
                # The identity provider stands before others while encryption is being ended: they may read it.
                if choice.prefix:
                    failures.append(error)
                    self._record(FROM_STORAGE, choice, began, error.status)
                continue
            self._record(FROM_STORAGE, choice, began)
            return value, stale or number > 0
        if failures:
            raise _together(failures)
        self._metrics.record(self._resource, FROM_STORAGE, "unknown", 0, "unknown-non-grpc")
        raise TransformError(self._no_match)

    async def to_storage(self, data: bytes, context: bytes) -> bytes:
        first, began = self._choices[0], time.perf_counter()
        try:
            value = await first.transformer.to_storage(data, context)
        except TransformError as error:
            self._metrics.record(self._resource, TO_STORAGE, first.prefix.decode(), 0, error.status)
            raise
        self._metrics.record(self._resource, TO_STORAGE, first.prefix.decode(), time.perf_counter() - began)
        return first.prefix + value

    def _record(self, kind: str, choice: Prefixed, began: float, status: str = "OK") -> None:
        prefix = choice.prefix.decode() or "identity"
        self._metrics.record(self._resource, kind, prefix, time.perf_counter() - began, status)


async def read(transformer: Transformer, data: bytes, context: bytes) -> tuple[bytes, bool]:
    """A value, whose key is fetched first where it has to be."""
    while True:
        try:
            return transformer.from_storage(data, context)
        except KeyMissing as missing:
            await missing.fetch()


def _together(errors: Sequence[TransformError]) -> TransformError:
    """As Go's aggregates: one alone is itself, several are listed once each."""
    messages = list(dict.fromkeys(str(error) for error in errors))
    text = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    return TransformError(text, errors[0].status)
