"""Header fields that belong to the connection, not to the handler: each protocol writes its own."""

from __future__ import annotations

import re
from typing import Any, Protocol

HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
# What an encoder has to look at; every other field passes through unseen.
RESERVED = HOP_BY_HOP | {b"content-length", b"date"}

_BREAKS = re.compile(rb"[\r\n\0]")


def has_no_body(status: int) -> bool:
    return status < 200 or status == 204 or status == 304


def one_line(value: bytes) -> bytes:
    """A value that cannot end its own line; as Go's server, breaks become spaces."""
    return _BREAKS.sub(b" ", value)


class ErrorLog(Protocol):
    """Where the serving layer reports what no client can be told."""

    def error(self, event: str, **fields: Any) -> None: ...
