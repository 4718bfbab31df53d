"""Response heads as bytes. Field names go out as Go's servers write them: `Audit-Id`, `Content-Type`."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from kapi.wire.framing import HOP_BY_HOP, RESERVED, one_line
from kapi.wire.messages import RawHeaders

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONTENT_LENGTH = b"\r\nContent-Length: "


@lru_cache(maxsize=256)
def status_line(status: int, http10: bool) -> bytes:
    version = b"HTTP/1.0" if http10 else b"HTTP/1.1"
    return b"%b %d %b" % (version, status, reason(status))


def reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"status code %d" % status


@lru_cache(maxsize=1024)
def _begin_field(name: bytes) -> bytes:
    return b"\r\n" + b"-".join(part.capitalize() for part in name.split(b"-")) + b": "


def encode_head(
    status: int, headers: RawHeaders, date: bytes, framing: bytes, *, http10: bool = False, upgrade: bool = False
) -> bytes:
    """The whole head. `framing` is what the connection adds: lines that each begin with CRLF."""
    parts = [status_line(status, http10)]
    dated = False
    for name, value in headers:
        if name in RESERVED:
            if name == b"date":
                dated = True
            elif name == b"content-length" or (name in HOP_BY_HOP and not upgrade):
                continue
        parts.append(_begin_field(name))
        parts.append(value)
    lines = (len(parts) >> 1) + 2 + framing.count(b"\n")
    if not dated:
        parts.append(b"\r\nDate: ")
        parts.append(date)
        lines += 1
    parts.append(framing)
    parts.append(b"\r\n\r\n")
    head = b"".join(parts)
    if head.count(b"\n") != lines or head.count(b"\r") != lines:
        safe = [(one_line(name), one_line(value)) for name, value in headers]
        return encode_head(status, safe, date, framing, http10=http10, upgrade=upgrade)
    return head


def content_length(size: int) -> bytes:
    return _CONTENT_LENGTH + b"%d" % size


def encode_refusal(status: int, detail: str = "") -> bytes:
    """What a client gets that does not speak HTTP well enough to reach the handler; as Go's server words it."""
    text = b"%d %b" % (status, reason(status))
    body = text + b": " + detail.encode() if detail else text
    return (
        b"HTTP/1.1 %b\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
        % (text, len(body), body)
    )
