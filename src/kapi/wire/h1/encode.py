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


def _encode_line(name: bytes, value: bytes) -> bytes:
    canonical = b"-".join(part.capitalize() for part in one_line(name).split(b"-"))
    return b"\r\n" + canonical + b": " + one_line(value)


# Most lines of most answers are the same few; long values are not worth the memory.
_CACHED_LENGTH = 64
_known_line = lru_cache(maxsize=1024)(_encode_line)


def encode_head(
    status: int, headers: RawHeaders, date: bytes, framing: bytes, *, http10: bool = False, upgrade: bool = False
) -> bytes:
    """The whole head. `framing` is what the connection adds: lines that each begin with CRLF."""
    lines = [status_line(status, http10)]
    dated = False
    for name, value in headers:
        if name in RESERVED:
            if name == b"content-length" or (name in HOP_BY_HOP and not upgrade):
                continue
            dated = dated or name == b"date"
        lines.append(_known_line(name, value) if len(value) < _CACHED_LENGTH else _encode_line(name, value))
    if not dated:
        lines.append(_known_line(b"date", date))
    lines.append(framing)
    lines.append(b"\r\n\r\n")
    return b"".join(lines)


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
