"""`/openapi/v2` and `/openapi/v3`: the index with its hashes, and the documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import orjson

from kapi.api.call import Call
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.openapi.custom import CustomDocument
from kapi.endpoints.openapi.documents import Document, Documents
from kapi.endpoints.params import first
from kapi.endpoints.respond import GZIP_FROM, accepts_gzip, gzip
from kapi.wire.messages import RawHeaders, Response, text

_PROTOBUF = tuple(f"application/com.github.proto-openapi.spec.v2{mark}v1.0+protobuf" for mark in ("@", "."))
_PROTOBUF_V3 = tuple(f"application/com.github.proto-openapi.spec.v3{mark}v1.0+protobuf" for mark in ("@", "."))
_JSON = ("application/json", "*/*", "application/*", "")
_FOREVER = b"public, max-age=31536000, immutable"


class OpenAPI:
    def __init__(self, catalogue: Catalogue, others: Iterable[str] = ()) -> None:
        self._documents = Documents(catalogue, others)

    async def v2(self, call: Call) -> Response:
        if _accepts(call, _PROTOBUF):
            document = self._documents.v2()
            return await _answer(call, document, document.protobuf, _PROTOBUF[1].encode())
        if not _accepts(call, _JSON):
            return Response(406, [])
        return await _answer(call, self._documents.v2())

    async def v3_index(self, call: Call) -> Response:
        paths = {}
        for path, document in self._documents.v3_all():
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={document.hash}"}
            await asyncio.sleep(0)  # the first time, each is made here
        # As upstream, which lets Go guess the type.
        return Response(200, [(b"content-type", b"text/plain; charset=utf-8")], orjson.dumps({"paths": paths}))

    async def v3(self, call: Call) -> Response:
        path = call.info.path.removeprefix("/openapi/v3/")
        document = self._documents.v3(path) if path else None
        if document is None:
            return Response(404, [])
        as_protobuf = _accepts(call, _PROTOBUF_V3)
        if not as_protobuf and not _accepts(call, _JSON):
            return Response(406, [])
        asked = first(call, "hash")
        if asked is not None and asked != document.hash:
            location = f"/openapi/v3/{path}?hash={document.hash}".encode()
            return Response(301, [(b"location", location), (b"content-type", b"application/json")])
        if as_protobuf:
            response = await _answer(call, document, document.protobuf, _PROTOBUF_V3[1].encode())
        else:
            response = await _answer(call, document)
        if asked is not None:
            response.headers.append((b"cache-control", _FOREVER))
        return response

    async def unknown(self, call: Call) -> Response:
        return text(404, "404 page not found\n")


def _accepts(call: Call, types: tuple[str, ...]) -> bool:
    accept = call.request.headers.get("accept") or ""
    return any(part.partition(";")[0].strip() in types for part in accept.split(","))


async def _answer(
    call: Call, document: Document | CustomDocument, body: bytes = b"", content_type: bytes = b"application/json"
) -> Response:
    tag = f'"{document.hash}"'.encode()
    body = body or document.body
    headers: RawHeaders = [(b"content-type", content_type), (b"etag", tag), (b"vary", b"Accept")]
    if call.request.headers.get("if-none-match") == tag.decode():
        return Response(304, [(b"etag", tag), (b"vary", b"Accept")])
    if len(body) >= GZIP_FROM and accepts_gzip(call):
        headers[2] = (b"vary", b"Accept-Encoding")
        headers.append((b"content-encoding", b"gzip"))
        body = await asyncio.get_running_loop().run_in_executor(None, gzip, body)
    return Response(200, headers, body)
