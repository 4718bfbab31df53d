"""The loopback client: requests that the server makes of itself, in process, through its own chain, without a socket.

The connection carries a trusted identity, so no credential exists that could leak.
"""

from __future__ import annotations

import asyncio
from asyncio import Queue
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from kapi.api.client import MERGE_PATCH, error_from_status
from kapi.api.objects import Object
from kapi.api.user import ALL_AUTHENTICATED, LOOPBACK_USER, SYSTEM_PRIVILEGED_GROUP, User
from kapi.authn.authenticator import TrustedIdentity
from kapi.wire.messages import BodyTooLarge, ClientGone, Connection, Handler, Headers, RawHeaders, Response

_JSON = "application/json"


class _Connection:
    remote = ("127.0.0.1", 0)
    secure = True

    def __init__(self, user: User) -> None:
        self.identity: Any = TrustedIdentity(user)

    def peer_certificate(self) -> bytes | None:
        return None

    def peer_intermediates(self) -> list[bytes]:
        return []

    def go_away(self) -> None:
        """There is nothing to reconnect."""


class _Request:
    protocol = "HTTP/1.1"

    def __init__(self, method: str, path: str, query: str, headers: Headers, connection: _Connection) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.connection: Connection = connection
        self.content = b""

    async def body(self, limit: int) -> bytes:
        if len(self.content) > limit:
            raise BodyTooLarge
        return self.content

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """The caller goes away by being cancelled."""


class _Body:
    """A response body in memory."""

    def __init__(self) -> None:
        self.closed = False
        self.pieces: Queue[bytes] = Queue()

    @property
    def buffered(self) -> int:
        return 0

    def write_nowait(self, data: bytes) -> None:
        self.pieces.put_nowait(data)

    async def write(self, data: bytes) -> None:
        if self.closed:
            raise ClientGone("the caller stopped reading")
        self.pieces.put_nowait(data)

    def content(self) -> bytes:
        pieces = []
        while not self.pieces.empty():
            pieces.append(self.pieces.get_nowait())
        return b"".join(pieces)


class LoopbackClient:
    """Satisfies `api.client.Client`. Usable once the chain is bound to it."""

    def __init__(self, user: User | None = None) -> None:
        groups = (SYSTEM_PRIVILEGED_GROUP, ALL_AUTHENTICATED)
        self._connection = _Connection(user or User(name=LOOPBACK_USER, groups=groups))
        self._handler: Handler | None = None

    def bind(self, handler: Handler) -> None:
        self._handler = handler

    async def get(self, path: str, **params: str) -> Object:
        return await self._object("GET", path, params)

    async def list(self, path: str, **params: str) -> Object:
        return await self._object("GET", path, params)

    async def create(self, path: str, obj: Object, **params: str) -> Object:
        return await self._object("POST", path, params, obj)

    async def update(self, path: str, obj: Object, **params: str) -> Object:
        return await self._object("PUT", path, params, obj)

    async def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH, **params: str) -> Object:
        return await self._object("PATCH", path, params, patch, content_type)

    async def delete(self, path: str, options: Object | None = None, **params: str) -> Object:
        return await self._object("DELETE", path, params, options)

    async def watch(self, path: str, **params: str) -> AsyncIterator[Object]:
        response = await self._send("GET", path, {**params, "watch": "true"}, None, _JSON)
        if response.status >= 400 or response.stream is None:
            raise error_from_status(orjson.loads(response.body))
        body = _Body()
        sender = asyncio.ensure_future(response.stream(body))
        sender.add_done_callback(lambda _: body.write_nowait(b""))
        rest = b""
        try:
            while piece := await body.pieces.get():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line:
                        yield orjson.loads(line)
            await sender
        finally:
            body.closed = True
            sender.cancel()

    async def _object(
        self, method: str, path: str, params: dict[str, str], body: Any = None, content_type: str = _JSON
    ) -> Object:
        response = await self._send(method, path, params, body, content_type)
        content = response.body
        if response.stream is not None:
            collected = _Body()
            await response.stream(collected)
            content = collected.content()
        if response.status >= 400:
            raise error_from_status(_status(response.status, content))
        result: Object = orjson.loads(content)
        return result

    async def _send(self, method: str, path: str, params: dict[str, str], body: Any, content_type: str) -> Response:
        if self._handler is None:
            raise RuntimeError("the loopback client is not bound to a handler chain yet")
        headers: RawHeaders = [(b"accept", b"application/json"), (b"user-agent", b"kube-apiserver/loopback")]
        if body is not None:
            headers.append((b"content-type", content_type.encode()))
        request = _Request(
            method, quote(path, safe="/:~@!$&'()*+,;=-._"), urlencode(params), Headers(headers), self._connection
        )
        if body is not None:
            request.content = orjson.dumps(body)
        return await self._handler(request)


def _status(code: int, content: bytes) -> Object:
    """The Status of a refusal; not every refusal is one: the end of the delegation is plain text."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return status
    return {
        "message": content.decode("utf-8", "replace").strip(),
        "reason": "NotFound" if code == 404 else "",
        "code": code,
    }
