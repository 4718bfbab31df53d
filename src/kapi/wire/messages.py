"""Requests and responses, as handlers see them: the same for HTTP/1.1, HTTP/2 and calls in process.

Header names are lower-case bytes. A response is one of three: a body, a stream, or an upgrade.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]


class BodyTooLarge(Exception):
    """The request's body exceeds what the handler takes."""


class ClientGone(ConnectionError):
    """The client closed the connection or reset the stream."""


class Headers:
    """Request headers by lower-case name; values decode on demand, as UTF-8: names of users come in them."""

    __slots__ = ("_index", "raw")

    def __init__(self, raw: RawHeaders) -> None:
        self.raw = raw
        self._index: dict[bytes, bytes] | None = None

    def get(self, name: str) -> str | None:
        """The first value of that name, or None."""
        index = self._index
        if index is None:
            index = self._index = dict(reversed(self.raw))
        value = index.get(name.encode())
        return None if value is None else value.decode("utf-8", "replace")

    def mentions(self, name: bytes) -> bool:
        """Whether a name may have this part in it; False is certain."""
        index = self._index
        if index is None:
            index = self._index = dict(reversed(self.raw))
        return name in b"".join(index)

    def get_all(self, name: str) -> list[str]:
        wanted = name.encode("latin-1")
        return [v.decode("utf-8", "replace") for k, v in self.raw if k == wanted]

    def names(self) -> list[str]:
        """Each name once, in the order in which they came."""
        return list(dict.fromkeys(k.decode("latin-1") for k, _ in self.raw))


class Connection(Protocol):
    """The connection a request came on. `identity` is for authentication to cache its result in."""

    remote: tuple[str, int]
    secure: bool
    identity: Any

    def peer_certificate(self) -> bytes | None:
        """The client's leaf certificate, DER, not verified; None when it gave none."""

    def peer_intermediates(self) -> list[bytes]:
        """What else the client sent to lead from its certificate to a CA: DER, not verified."""

    def go_away(self) -> None:
        """Finish what is under way, then have the client reconnect (h2 GOAWAY, h1 Connection: close)."""


class Request(Protocol):
    method: str
    path: str
    query: str
    headers: Headers
    connection: Connection
    protocol: str

    async def body(self, limit: int) -> bytes: ...

    def on_disconnect(self, callback: Callable[[], None]) -> None: ...


class BodyStream(Protocol):
    """A response body while it is being sent."""

    closed: bool  # the client went away

    @property
    def buffered(self) -> int:
        """Bytes accepted but not yet taken by the kernel or the peer's flow control."""

    def write_nowait(self, data: bytes) -> None:
        """Queue bytes without waiting; several writes in one turn of the loop go out together."""

    async def write(self, data: bytes) -> None:
        """Send, waiting while the peer is slow; raises ClientGone when it left."""


class RawStream(Protocol):
    """A connection taken over after 101 Switching Protocols (or an h2 extended CONNECT stream)."""

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""

    async def write(self, data: bytes) -> None: ...

    async def close(self) -> None: ...


class Response:
    """What a handler answers. Filters may append to `headers`."""

    __slots__ = ("body", "headers", "status", "stream", "upgrade")

    def __init__(
        self,
        status: int,
        headers: RawHeaders,
        body: bytes = b"",
        *,
        stream: Callable[[BodyStream], Awaitable[None]] | None = None,
        upgrade: Callable[[RawStream], Awaitable[None]] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream  # called after the head is sent; the response ends when it returns
        self.upgrade = upgrade  # with status 101: called with the raw connection


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


def text(status: int, body: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> Response:
    """A plain-text answer, as Go's http.Error writes it."""
    return Response(
        status,
        [(b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff"), *headers],
        body.encode(),
    )
