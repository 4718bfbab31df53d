"""RFC 9113 and RFC 7541, rule by rule: what a peer may not do, and what the server answers when it does."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
NO, PROTOCOL, INTERNAL, FLOW, _, CLOSED, SIZE, REFUSED, CANCEL, COMPRESSION = range(10)
ES, EH, PAD, PRIO = 1, 4, 8, 32


def f(kind: int, flags: int, sid: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, sid) + payload


def lit(name: bytes, value: bytes) -> bytes:
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def fields(**changes: bytes | None) -> bytes:
    values: dict[str, bytes | None] = {"method": b"GET", "scheme": b"https", "path": b"/", "authority": b"x", **changes}
    return b"".join(lit(b":" + name.encode(), value) for name, value in values.items() if value is not None)


GET = fields()
POST = fields(method=b"POST")
U32 = struct.Struct(">I").pack


def setting(key: int, value: int) -> bytes:
    return struct.pack(">HI", key, value)


def get(sid: int, block: bytes = GET) -> bytes:
    return f(HEADERS, ES | EH, sid, block)


def post(sid: int, block: bytes = POST) -> bytes:
    return f(HEADERS, EH, sid, block)


def goaway(*codes: int) -> set[tuple[str, int]]:
    return {("goaway", code) for code in codes}


def reset(*codes: int) -> set[tuple[str, int]]:
    return {("reset", code) for code in codes}


OK = {("status", 200)}

CASES: dict[str, tuple[bytes, set[tuple[str, int]]]] = {
    # 4. Frames
    "4.1 an unknown frame type is ignored": (f(22, 0, 0, b"x" * 8) + get(1), OK),
    "4.1 unknown flags are ignored": (f(PING, 0x16, 0, b"x" * 8) + get(1), OK),
    "4.1 the reserved bit is ignored": (f(PING, 0, 0x80000000, b"x" * 8) + get(1), OK),
    "4.2 a DATA frame of the greatest size": (post(1) + f(DATA, ES, 1, b"x" * 262144), OK),
    "4.2 a frame over the greatest size": (post(1) + f(DATA, ES, 1, b"x" * 262145), goaway(SIZE)),
    "4.2 a HEADERS frame over the greatest size": (f(HEADERS, ES | EH, 1, b"\x88" * 262145), goaway(SIZE)),
    "4.3 an invalid header block": (get(1, b"\x00\x00\x00\x00\x00"), goaway(COMPRESSION) | reset(PROTOCOL)),
    "4.3 PRIORITY amid a header block": (f(HEADERS, ES, 1, GET) + f(PRIORITY, 0, 1, b"\0\0\0\0\xff"), goaway(PROTOCOL)),
    "4.3 HEADERS amid another header block": (f(HEADERS, ES, 1, GET) + get(3), goaway(PROTOCOL)),
    # 5.1 Stream states
    "5.1 idle: DATA": (f(DATA, ES, 1, b"x"), goaway(PROTOCOL)),
    "5.1 idle: RST_STREAM": (f(RST, 0, 1, U32(CANCEL)), goaway(PROTOCOL)),
    "5.1 idle: WINDOW_UPDATE": (f(WINDOW, 0, 1, U32(100)), goaway(PROTOCOL)),
    "5.1 idle: CONTINUATION": (f(CONTINUATION, EH, 1, GET), goaway(PROTOCOL)),
    "5.1 half-closed: DATA": (get(1, fields(path=b"/slow")) + f(DATA, ES, 1, b"x"), reset(CLOSED)),
    "5.1 half-closed: HEADERS": (get(1, fields(path=b"/slow")) + get(1), reset(CLOSED)),
    "5.1 half-closed: CONTINUATION": (get(1, fields(path=b"/slow")) + f(CONTINUATION, EH, 1, GET), goaway(PROTOCOL)),
    "5.1 closed by RST_STREAM: DATA": (
        post(1, fields(method=b"POST", path=b"/slow")) + f(RST, 0, 1, U32(CANCEL)) + f(DATA, ES, 1, b"x"),
        reset(CLOSED),
    ),
    "5.1 closed by RST_STREAM: HEADERS": (post(1) + f(RST, 0, 1, U32(CANCEL)) + get(1), goaway(CLOSED)),
    "5.1 closed by RST_STREAM: CONTINUATION": (
        post(1) + f(RST, 0, 1, U32(CANCEL)) + f(CONTINUATION, EH, 1, GET),
        goaway(PROTOCOL),
    ),
    "5.1 closed: WINDOW_UPDATE is ignored": (post(1) + f(RST, 0, 1, U32(8)) + f(WINDOW, 0, 1, U32(9)) + get(3), OK),
    "5.1 closed: RST_STREAM is ignored": (post(1) + f(RST, 0, 1, U32(8)) + f(RST, 0, 1, U32(8)) + get(3), OK),
    "5.1 closed: PRIORITY is ignored": (
        post(1) + f(RST, 0, 1, U32(8)) + f(PRIORITY, 0, 1, b"\0\0\0\0\x01") + get(3),
        OK,
    ),
    "5.1.1 an even stream": (get(2), goaway(PROTOCOL)),
    "5.1.1 a stream below the last": (get(5, fields(path=b"/slow")) + get(3), goaway(CLOSED, PROTOCOL)),
    "5.3.1 HEADERS that depend on themselves": (
        f(HEADERS, ES | EH | PRIO, 1, U32(1) + b"\xff" + GET),
        goaway(PROTOCOL) | reset(PROTOCOL),
    ),
    "5.3.1 PRIORITY that depends on itself": (
        get(1, fields(path=b"/slow")) + f(PRIORITY, 0, 1, U32(1) + b"\x10"),
        reset(PROTOCOL),
    ),
    "5.3 PRIORITY of an idle stream": (f(PRIORITY, 0, 7, U32(0) + b"\x10") + get(1), OK),
    # 6. Frame definitions
    "6.1 DATA on stream 0": (f(DATA, ES, 0, b"x"), goaway(PROTOCOL)),
    "6.1 padding as long as the frame": (post(1) + f(DATA, ES | PAD, 1, b"\x05abcd"), goaway(PROTOCOL)),
    "6.1 padded without a length": (post(1) + f(DATA, ES | PAD, 1), goaway(PROTOCOL)),
    "6.1 padded DATA": (post(1) + f(DATA, ES | PAD, 1, b"\x02ab\0\0"), OK),
    "6.2 HEADERS on stream 0": (get(0), goaway(PROTOCOL)),
    "6.2 padded HEADERS": (f(HEADERS, ES | EH | PAD, 1, b"\x02" + GET + b"\0\0"), OK),
    "6.2 HEADERS with priority": (f(HEADERS, ES | EH | PRIO, 1, U32(0) + b"\xff" + GET), OK),
    "6.2 padding longer than the block": (f(HEADERS, ES | EH | PAD, 1, b"\xff" + GET), goaway(PROTOCOL)),
    "6.2 priority cut short": (f(HEADERS, ES | EH | PRIO, 1, b"\0\0"), goaway(SIZE)),
    "6.3 PRIORITY on stream 0": (f(PRIORITY, 0, 0, U32(1) + b"\xff"), goaway(PROTOCOL)),
    "6.3 PRIORITY of another size": (get(1, fields(path=b"/slow")) + f(PRIORITY, 0, 1, b"\0\0\0"), reset(SIZE)),
    "6.4 RST_STREAM on stream 0": (f(RST, 0, 0, U32(8)), goaway(PROTOCOL)),
    "6.4 RST_STREAM of another size": (post(1) + f(RST, 0, 1, b"\0\0\0"), goaway(SIZE)),
    "6.5 SETTINGS acknowledgement with a payload": (f(SETTINGS, 1, 0, setting(3, 1)), goaway(SIZE)),
    "6.5 SETTINGS on a stream": (f(SETTINGS, 0, 1, setting(3, 1)), goaway(PROTOCOL)),
    "6.5 SETTINGS of another size": (f(SETTINGS, 0, 0, b"\0\0\0"), goaway(SIZE)),
    "6.5.2 ENABLE_PUSH of 2": (f(SETTINGS, 0, 0, setting(2, 2)), goaway(PROTOCOL)),
    "6.5.2 INITIAL_WINDOW_SIZE too great": (f(SETTINGS, 0, 0, setting(4, 1 << 31)), goaway(FLOW)),
    "6.5.2 MAX_FRAME_SIZE too small": (f(SETTINGS, 0, 0, setting(5, 16383)), goaway(PROTOCOL)),
    "6.5.2 MAX_FRAME_SIZE too great": (f(SETTINGS, 0, 0, setting(5, 1 << 24)), goaway(PROTOCOL)),
    "6.5.2 an unknown setting": (f(SETTINGS, 0, 0, setting(0xFF, 1)) + get(1), OK),
    "6.6 PUSH_PROMISE": (f(PUSH, EH, 1, U32(2) + GET), goaway(PROTOCOL)),
    "6.7 PING on a stream": (f(PING, 0, 1, b"x" * 8), goaway(PROTOCOL)),
    "6.7 PING of another size": (f(PING, 0, 0, b"x" * 6), goaway(SIZE)),
    "6.7 an acknowledgement nobody waits for": (f(PING, 1, 0, b"x" * 8) + get(1), OK),
    "6.8 GOAWAY on a stream": (f(GOAWAY, 0, 1, U32(0) + U32(0)), goaway(PROTOCOL)),
    "6.8 GOAWAY cut short": (f(GOAWAY, 0, 0, b"\0\0"), goaway(SIZE)),
    "6.9 WINDOW_UPDATE of 0 on the connection": (f(WINDOW, 0, 0, U32(0)), goaway(PROTOCOL)),
    "6.9 WINDOW_UPDATE of 0 on a stream": (get(1, fields(path=b"/slow")) + f(WINDOW, 0, 1, U32(0)), reset(PROTOCOL)),
    "6.9 WINDOW_UPDATE of another size": (f(WINDOW, 0, 0, b"\0\0\1"), goaway(SIZE)),
    "6.9.1 the connection's window overflows": (f(WINDOW, 0, 0, U32(0x7FFFFFFF)), goaway(FLOW)),
    "6.9.1 a stream's window overflows": (
        get(1, fields(path=b"/slow")) + f(WINDOW, 0, 1, U32(0x7FFFFFFF)),
        reset(FLOW),
    ),
    "6.9.2 settings overflow a stream's window": (
        get(1, fields(path=b"/slow"))
        + f(WINDOW, 0, 1, U32(0x7FFF0000 - 65535))
        + f(SETTINGS, 0, 0, setting(4, 1 << 30)),
        goaway(FLOW),
    ),
    "6.9 more DATA than the stream's window": (
        post(1, fields(method=b"POST", path=b"/slow")) + f(DATA, 0, 1, b"x" * 200_000) * 2,
        reset(FLOW),
    ),
    "6.10 CONTINUATION without a block": (get(1) + f(CONTINUATION, EH, 1, GET), goaway(PROTOCOL)),
    "6.10 CONTINUATION of another stream": (f(HEADERS, ES, 1, GET) + f(CONTINUATION, EH, 3, b""), goaway(PROTOCOL)),
    "6.10 CONTINUATION on stream 0": (f(HEADERS, ES, 1, GET) + f(CONTINUATION, EH, 0, b""), goaway(PROTOCOL)),
    "6.10 a block in many pieces": (
        f(HEADERS, ES, 1, GET[:3]) + f(CONTINUATION, 0, 1, GET[3:20]) + f(CONTINUATION, EH, 1, GET[20:]),
        OK,
    ),
    # 8. Messages
    "8.1 trailers": (post(1) + f(DATA, 0, 1, b"x") + f(HEADERS, ES | EH, 1, lit(b"x-t", b"1")), OK),
    "8.1 trailers without END_STREAM": (
        post(1) + f(DATA, 0, 1, b"x") + f(HEADERS, EH, 1, lit(b"x-t", b"1")),
        reset(PROTOCOL),
    ),
    "8.1 a pseudo-field in trailers": (post(1) + f(HEADERS, ES | EH, 1, lit(b":method", b"GET")), reset(PROTOCOL)),
    "8.2.1 an upper-case name": (get(1, GET + lit(b"X-Test", b"1")), reset(PROTOCOL)),
    "8.2.1 a colon in a name": (get(1, GET + lit(b"a:b", b"1")), reset(PROTOCOL)),
    "8.2.1 a space in a name": (get(1, GET + lit(b"a b", b"1")), reset(PROTOCOL)),
    "8.2.1 a line end in a value": (get(1, GET + lit(b"a", b"1\r\nb: 2")), reset(PROTOCOL)),
    "8.2.1 NUL in a value": (get(1, GET + lit(b"a", b"\0")), reset(PROTOCOL)),
    "8.2.2 connection": (get(1, GET + lit(b"connection", b"keep-alive")), reset(PROTOCOL)),
    "8.2.2 transfer-encoding": (post(1, POST + lit(b"transfer-encoding", b"chunked")), reset(PROTOCOL)),
    "8.2.2 te other than trailers": (get(1, GET + lit(b"te", b"trailers, deflate")), reset(PROTOCOL)),
    "8.2.2 te: trailers": (get(1, GET + lit(b"te", b"trailers")), OK),
    "8.3 an unknown pseudo-field": (get(1, GET + lit(b":test", b"1")), reset(PROTOCOL)),
    "8.3 a pseudo-field of responses": (get(1, GET + lit(b":status", b"200")), reset(PROTOCOL)),
    "8.3 a pseudo-field after a field": (
        get(1, fields(path=None) + lit(b"a", b"b") + lit(b":path", b"/")),
        reset(PROTOCOL),
    ),
    "8.3.1 an empty path": (get(1, fields(path=b"")), reset(PROTOCOL)),
    "8.3.1 no method": (get(1, fields(method=None)), reset(PROTOCOL)),
    "8.3.1 no scheme": (get(1, fields(scheme=None)), reset(PROTOCOL)),
    "8.3.1 no path": (get(1, fields(path=None)), reset(PROTOCOL)),
    "8.3.1 method twice": (get(1, GET + lit(b":method", b"GET")), reset(PROTOCOL)),
    "8.3.1 path twice": (get(1, GET + lit(b":path", b"/")), reset(PROTOCOL)),
    "8.3.1 a host that differs from the authority": (get(1, GET + lit(b"host", b"other")), reset(PROTOCOL)),
    "8.3.1 a space in the path": (get(1, fields(path=b"/a b")), reset(PROTOCOL)),
    "8.5 CONNECT with a path": (get(1, fields(method=b"CONNECT")), reset(PROTOCOL)),
    "8.1.1 a body longer than announced": (
        post(1, POST + lit(b"content-length", b"1")) + f(DATA, ES, 1, b"test"),
        reset(PROTOCOL),
    ),
    "8.1.1 a body shorter than announced": (
        post(1, POST + lit(b"content-length", b"9")) + f(DATA, ES, 1, b"te"),
        reset(PROTOCOL),
    ),
    "8.1.1 a length without a body": (get(1, GET + lit(b"content-length", b"9")), reset(PROTOCOL)),
    "8.1.1 two lengths": (
        post(1, POST + lit(b"content-length", b"1") + lit(b"content-length", b"2")),
        reset(PROTOCOL),
    ),
    "8.1.1 a signed length": (post(1, POST + lit(b"content-length", b"+1")), reset(PROTOCOL)),
    # HPACK
    "HPACK 2.3.3 an index beyond the tables": (get(1, b"\xfe"), goaway(COMPRESSION)),
    "HPACK 2.3.3 a name's index beyond the tables": (get(1, b"\x7e\x01a"), goaway(COMPRESSION)),
    "HPACK 5.2 Huffman with too much padding": (get(1, GET + b"\x00\x01a\x82\xff\xff"), goaway(COMPRESSION)),
    "HPACK 5.2 Huffman with the end marker": (get(1, GET + b"\x00\x01a\x84\xff\xff\xff\xff"), goaway(COMPRESSION)),
    "HPACK 6.1 index 0": (get(1, b"\x80"), goaway(COMPRESSION)),
    "HPACK 6.3 a table greater than allowed": (get(1, b"\x3f\xe2\x1f" + GET), goaway(COMPRESSION)),
    "HPACK a literal cut short": (get(1, b"\x00\x05ab"), goaway(COMPRESSION)),
    "HPACK a block of a name only": (get(1, b"\x00"), goaway(COMPRESSION)),
}


async def answer_later(request: Any) -> Any:
    from kapi.wire.messages import text

    if request.path == "/slow":
        await asyncio.sleep(60)
    await request.body(1 << 20)
    return text(200, "ok")


async def outcome(client: Any) -> tuple[str, int]:
    """The first thing that the server has to say about what it was sent."""
    while True:
        try:
            kind, _, _, payload = await client.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            return "closed", 0
        if kind == HEADERS:
            return "status", int(client.headers(payload)[":status"])
        if kind == RST:
            return "reset", int.from_bytes(payload, "big")
        if kind == GOAWAY:
            return "goaway", int.from_bytes(payload[4:8], "big")


@pytest.mark.parametrize("case", CASES)
def test_the_rule(world: Any, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    from kapi.wire.limits import Limits
    from kapi.wire.loop import run

    sent, expected = CASES[case]

    async def main() -> None:
        async with world.serving(answer_later, limits=Limits(max_streams=10)) as listener, world.h2(listener) as client:
            client.send(sent)
            seen = await asyncio.wait_for(outcome(client), 10)
            assert seen in expected
            if seen[0] != "goaway":
                client.request(101, "GET", "/after")
                assert (await client.response(101))[0] == 200

    run(main())


@pytest.mark.parametrize(
    "greeting",
    {
        "another preface": b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        "a frame other than SETTINGS first": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + f(PING, 0, 0, b"x" * 8),
        "an acknowledgement first": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + f(SETTINGS, 1, 0),
    }.values(),
)
def test_a_wrong_greeting_ends_the_connection(run: Any, world: Any, greeting: bytes) -> None:
    async def main() -> None:
        tls = world.tls()
        async with (
            world.serving(tls=tls) as listener,
            world.h2(listener, greet=False, ssl=world.client_context("h2"), server_hostname="localhost") as client,
        ):
            client.send(greeting)
            assert await client.ending() == PROTOCOL

    run(main())


def test_the_server_announces_its_limits_first(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener, greet=False) as client:
            client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + f(SETTINGS, 0, 0))
            kind, flags, sid, payload = await client.read()
            settings = dict(struct.unpack_from(">HI", payload, at) for at in range(0, len(payload), 6))
            assert (kind, flags, sid) == (SETTINGS, 0, 0)
            assert settings == {3: 250, 4: 262144, 5: 262144, 6: 1 << 20}
            assert (await client.read())[::3] == (WINDOW, U32(250 * 262144 - 65535))
            assert (await client.read())[:3] == (SETTINGS, 1, 0)

    run(main())
