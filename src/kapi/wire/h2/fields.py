"""What the fields of a request must be (RFC 9113, section 8), read in one pass.

All names and all values are checked together with one translate each: a field that could be read as two by an
HTTP/1.1 server behind us never gets past here.
"""

from __future__ import annotations

from kapi.wire.framing import HOP_BY_HOP
from kapi.wire.messages import RawHeaders
from kapi.wire.target import BadTarget, split_target

_NAME_BYTES = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz:"
_VALUE_BREAKS = b"\0\r\n"
_SEEN = HOP_BY_HOP | {b"te", b"content-length", b"expect", b"host", b""}
_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}


class Malformed(Exception):
    """The request breaks the rules: its stream is reset."""


class RequestFields:
    """A request's line and headers."""

    __slots__ = ("expect", "headers", "length", "method", "path", "query", "size")

    def __init__(self, fields: list[tuple[bytes, bytes, bool]]) -> None:
        names, values, _ = zip(*fields, strict=True) if fields else ((), (), ())
        all_names = b"".join(names)
        all_values = b"".join(values)
        if all_names.translate(None, _NAME_BYTES) or len(all_values.translate(None, _VALUE_BREAKS)) != len(all_values):
            raise Malformed
        self.size = len(all_names) + len(all_values) + 32 * len(fields)
        self.length = -1
        self.expect = False
        # As many fields as there are colons are pseudo-fields, and come first; their names are checked below.
        count = all_names.count(b":")
        pseudo = dict(zip(names[:count], values, strict=False))
        if len(pseudo) != count:
            raise Malformed
        self.headers: RawHeaders = list(zip(names[count:], values[count:], strict=True))
        if not _SEEN.isdisjoint(names):
            for name, value in self.headers:
                if name in _SEEN:
                    self._look_at(name, value, pseudo)
        self._read_line(pseudo)

    def _look_at(self, name: bytes, value: bytes, pseudo: dict[bytes, bytes]) -> None:
        if not name or name in HOP_BY_HOP or (name == b"te" and value != b"trailers"):
            raise Malformed
        if name == b"content-length":
            if not value.isdigit() or len(value) > 18 or self.length not in (-1, int(value)):
                raise Malformed
            self.length = int(value)
        elif name == b"expect":
            self.expect = value.lower() == b"100-continue"
        elif name == b"host" and pseudo.get(b":authority", value) != value:
            raise Malformed

    def _read_line(self, pseudo: dict[bytes, bytes]) -> None:
        method, target = pseudo.get(b":method"), pseudo.get(b":path")
        scheme, authority = pseudo.get(b":scheme"), pseudo.get(b":authority")
        known = (method is not None) + (target is not None) + (scheme is not None) + (authority is not None)
        if not method or known != len(pseudo):
            raise Malformed
        self.method = _METHODS.get(method) or _token(method)
        if method == b"CONNECT":
            if target is not None or scheme is not None or not authority:
                raise Malformed
            target = authority
        elif not target or not scheme:
            raise Malformed
        try:
            self.path, self.query, _ = split_target(self.method, target)
        except BadTarget:
            raise Malformed from None
        if authority is not None:
            self.headers.append((b"host", authority))


def _token(method: bytes) -> str:
    if method.lower().translate(None, _NAME_BYTES) or b":" in method:
        raise Malformed
    return method.decode("ascii")


def check_trailers(fields: list[tuple[bytes, bytes, bool]]) -> None:
    """Trailers are dropped, but they may not be malformed either."""
    for name, _, _ in fields:
        if not name or b":" in name or name.translate(None, _NAME_BYTES):
            raise Malformed
