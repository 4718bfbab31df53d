"""Answers: bytes that are already JSON, written as the client wants them.

Objects arrive here encoded. Only a client that asks for YAML or pretty JSON makes us decode them again, and one that
asks for protobuf where only JSON is at hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import orjson

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.endpoints.negotiate import JSON, PLAIN, PROTOBUF, YAML, Form
from kapi.endpoints.params import first
from kapi.wire.messages import BodyStream, RawHeaders, Response

# As upstream's defaultGzipThresholdBytes: smaller answers are not worth compressing.
GZIP_FROM = 128 * 1024
_GZIP_LEVEL = 1
_TYPES = {JSON: JSON.encode(), YAML: YAML.encode(), PROTOBUF: PROTOBUF.encode()}


async def respond(call: Call, status: int, body: bytes, form: Form = PLAIN) -> Response:
    """A document as one answer: JSON, or already in the form."""
    if call.audit is not None and body.startswith(b"{"):
        call.audit.response_object(body)
    if form.media_type == PROTOBUF:
        if body.startswith(b"{"):
            body = _rewritten(body, form)
    elif form.media_type == YAML or _pretty(call):
        body = _rewritten(body, form)
    elif not body.endswith(b"\n"):
        body += b"\n"
    headers: RawHeaders = [(b"content-type", _TYPES[form.media_type])]
    if len(body) >= GZIP_FROM and accepts_gzip(call):
        body = await asyncio.get_running_loop().run_in_executor(None, gzip, body)
        headers += _GZIPPED
    return Response(status, headers, body)


_GZIPPED = ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))


def respond_in_parts(call: Call, status: int, parts: Iterable[bytes], form: Form = PLAIN) -> Response:
    """A large document, made and sent part by part so that nothing else has to wait for it."""
    if call.audit is not None and form.media_type == JSON:
        parts = call.audit.response_parts(parts)
    headers: RawHeaders = [(b"content-type", _TYPES[form.media_type])]
    if not accepts_gzip(call):
        return Response(status, headers, stream=lambda stream: _send(stream, iter(parts)))
    headers += _GZIPPED
    return Response(status, headers, stream=lambda stream: _send_compressed(stream, iter(parts)))


async def _send(stream: BodyStream, parts: Iterator[bytes]) -> None:
    for part in parts:
        await stream.write(part)
        await asyncio.sleep(0)


async def _send_compressed(stream: BodyStream, parts: Iterator[bytes]) -> None:
    from isal import isal_zlib  # loaded with the first large answer

    compressor = isal_zlib.compressobj(_GZIP_LEVEL, wbits=31)
    run = asyncio.get_running_loop().run_in_executor
    for part in parts:
        compressed = await run(None, compressor.compress, part)
        if compressed:
            await stream.write(compressed)
    await stream.write(await run(None, compressor.flush))


def gzip(body: bytes) -> bytes:
    from isal import igzip  # loaded with the first large answer

    compressed: bytes = igzip.compress(body, _GZIP_LEVEL)
    return compressed


def accepts_gzip(call: Call) -> bool:
    encodings = call.request.headers.get("accept-encoding")
    # As upstream: the bare word, in lower case and without a quality.
    return encodings is not None and any(e.strip() == "gzip" for e in encodings.split(","))


def _pretty(call: Call) -> bool:
    """Asked for, or a person at a browser or curl who did not decline."""
    if not call.params and not call.request.headers.get("user-agent"):
        return False
    wanted = first(call, "pretty")
    if wanted is not None:
        return wanted.lower() not in ("false", "0")
    agent = call.request.headers.get("user-agent") or ""
    return agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def _rewritten(body: bytes, form: Form) -> bytes:
    decoded: Object = orjson.loads(body)
    if form.media_type == JSON:
        return orjson.dumps(decoded, option=orjson.OPT_INDENT_2) + b"\n"
    return written(decoded, form)


def written(document: Object, form: Form) -> bytes:
    """A document in the form's media type."""
    if form.media_type == PROTOBUF:
        from kapi.codec.protobuf import encode_object  # loaded with the first protobuf answer

        return encode_object(document)
    if form.media_type == YAML:
        from kapi.codec.yaml_dump import dumps  # loaded with the first YAML answer

        return dumps(document)
    return orjson.dumps(document)
