"""Warnings: what handlers had to say goes into Warning headers, cut short when there is too much of it."""

from __future__ import annotations

from collections.abc import Awaitable
from unicodedata import category

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response

# As upstream: when all the texts exceed the first, each is cut to the second.
TOTAL = 4 * 1024
EACH = 256


def with_warnings(next: CallHandler) -> CallHandler:
    def handle(call: Call) -> Awaitable[Response]:
        call.warned = _write
        return next(call)

    return handle


def _write(call: Call) -> None:
    others = [header for header in call.headers if header[0] != b"warning"]
    call.headers = [*others, *((b"warning", value) for value in _values(call.warnings))]


def _values(texts: list[str]) -> list[bytes]:
    texts = [t for t in texts if not any(category(c) == "Cc" for c in t)]
    if sum(map(len, texts)) > TOTAL:
        texts = _cut(texts)
    return [f'299 - "{_escape(t)}"'.encode() for t in texts]


def _cut(texts: list[str]) -> list[str]:
    kept: list[str] = []
    written = 0
    for text in texts:
        if written >= TOTAL:
            break
        kept.append(text[:EACH])
        written += len(kept[-1])
    return kept


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
