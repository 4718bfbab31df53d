"""Request heads: the request line is read here, the header fields by llhttp.

llhttp knows a closed list of methods and is strict about fields (no folding, no bare line ends, no ambiguous
framing). So it is given a request line it knows, and the fields as they came: any method reaches the handler,
and nothing smuggled does.
"""

from __future__ import annotations

import re

import httptools

from kapi.wire.messages import RawHeaders
from kapi.wire.target import BadTarget, split_target

_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_LINE_FOR_LLHTTP = b"POST / HTTP/1.1\r\n"
_FRAMING = frozenset((b"content-length", b"transfer-encoding", b"connection", b"expect", b"host", b"upgrade"))


class BadHead(Exception):
    """The head is refused with this status; the connection ends."""

    def __init__(self, status: int, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail


class HeadParser:
    """Parses one head after the other; the attributes hold the last one."""

    __slots__ = (
        "_parser",
        "chunked",
        "expect",
        "headers",
        "host",
        "http10",
        "keep_alive",
        "length",
        "method",
        "path",
        "query",
    )

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by llhttp."""
        self.headers.append((name.lower(), value.strip(b" \t")))

    def parse(self, head: bytes) -> None:
        end = head.find(b"\r\n")
        self.headers: RawHeaders = []
        authority = self._parse_line(head[:end])
        try:
            self._parser.feed_data(_LINE_FOR_LLHTTP + head[end + 2 :])
        except httptools.HttpParserUpgrade:
            self._parser = httptools.HttpRequestParser(self)
        except httptools.HttpParserError as error:
            raise BadHead(501 if "Request has invalid `Transfer-Encoding`" in str(error) else 400) from None
        self._read_framing(authority)
        if self.length > 0 or self.chunked or not self.keep_alive:
            # llhttp would wait for the body that is framed elsewhere, or refuse to go on.
            self._parser = httptools.HttpRequestParser(self)

    def _parse_line(self, line: bytes) -> bytes | None:
        parts = line.split(b" ")
        if len(parts) != 3:
            raise BadHead(400)
        method, target, version = parts
        known = _METHODS.get(method)
        if known is None:
            if not _TOKEN(method):
                raise BadHead(400)
            known = method.decode("ascii")
        if version == b"HTTP/1.1":
            self.http10 = False
        elif version == b"HTTP/1.0":
            self.http10 = True
        else:
            raise BadHead(505 if version.startswith(b"HTTP/") else 400)
        self.method = known
        try:
            self.path, self.query, authority = split_target(known, target)
        except BadTarget:
            raise BadHead(400) from None
        return authority

    def _read_framing(self, authority: bytes | None) -> None:
        self.length = 0
        self.chunked = self.expect = False
        self.keep_alive = not self.http10
        hosts = 0
        for name, value in self.headers:
            if name not in _FRAMING:
                continue
            if name == b"host":
                hosts += 1
            elif name == b"content-length":
                self.length = int(value)
            elif name == b"transfer-encoding":
                self.chunked = True
            elif name == b"connection":
                self._read_connection(value)
            elif name == b"expect":
                if value.strip().lower() != b"100-continue":
                    raise BadHead(417)
                self.expect = not self.http10
        if hosts > 1:
            raise BadHead(400, "too many Host headers")
        if not hosts and not self.http10:
            raise BadHead(400, "missing required Host header")
        if self.chunked and self.http10:
            raise BadHead(400, "Transfer-Encoding in an HTTP/1.0 request")
        if authority is not None:
            self.headers = [(b"host", authority), *(field for field in self.headers if field[0] != b"host")]

    def _read_connection(self, value: bytes) -> None:
        options = [option.strip() for option in value.lower().split(b",")]
        if b"close" in options:
            self.keep_alive = False
        elif b"keep-alive" in options:
            self.keep_alive = True
