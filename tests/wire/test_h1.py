"""HTTP/1.1 as clients see it: framing, pipelining, refusals, streaming, upgrades."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from kapi.wire.limits import Limits
from kapi.wire.messages import BodyStream, BodyTooLarge, ClientGone, RawStream, Request, Response, text


def test_an_answer_carries_length_date_and_canonical_names(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(b"GET /a?b=c HTTP/1.1\r\nHost: example\r\n\r\n")
            status, headers, lines = await client.head()
            body = await client.reader.readexactly(int(headers["content-length"]))
        assert (status, body) == (200, b"GET /a?b=c example HTTP/1.1 ")
        assert [line.partition(":")[0] for line in lines] == ["Content-Type", "Audit-Id", "Date", "Content-Length"]
        assert headers["date"].endswith(" GMT")

    run(main())


def test_a_connection_serves_many_requests(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            for number in range(50):
                status, _, body = await client.get(f"/{number}")
                assert (status, body.split()[1]) == (200, f"/{number}?".encode())
            assert listener.connections == 1

    run(main())


def test_pipelined_requests_are_answered_in_order(run: Any, world: Any) -> None:
    async def slow_first(request: Request) -> Response:
        if request.path == "/0":
            await asyncio.sleep(0.05)
        return text(200, request.path + (await request.body(100)).decode())

    async def main() -> None:
        async with world.serving(slow_first) as listener, world.h1(listener) as client:
            requests = b"".join(
                b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" % number for number in range(2000)
            )
            client.send(requests)
            for number in range(2000):
                assert (await client.response())[2] == f"/{number}abc".encode()

    run(main())


def test_a_head_may_arrive_byte_by_byte(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            for byte in b"\r\nPOST /x HTTP/1.1\r\nHost: slow\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n":
                client.send(bytes((byte,)))
                await client.writer.drain()
                await asyncio.sleep(0)
            assert (await client.response())[2] == b"POST /x? slow HTTP/1.1 ab"

    run(main())


def test_chunked_bodies_are_joined_and_trailers_dropped(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.send(b"3;name=value\r\nabc\r\n00b\r\n0123456789-\r\n0\r\nX-Checksum: 1\r\n\r\n")
            assert (await client.response())[2].endswith(b" abc0123456789-")
            assert (await client.get())[0] == 200

    run(main())


@pytest.mark.parametrize("method", ["FOO", "TRACE", "CONNECT", "PROPFIND", "M-SEARCH", "PRI", "get"])
def test_any_method_reaches_the_handler(run: Any, world: Any, method: str) -> None:
    async def main() -> None:
        target = "test:80" if method == "CONNECT" else "/api"
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi".encode())
            status, _, body = await client.response()
            assert status == 200
            assert body.split()[0] == method.encode()
            assert (await client.get())[0] == 200

    run(main())


def test_connect_with_a_path_reaches_the_handler(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(b"CONNECT /api HTTP/1.1\r\nHost: x\r\n\r\n")
            status, _, body = await client.response()
            assert (status, body[:12]) == (200, b"CONNECT /api")

    run(main())


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("http://other.example/a/b?c=d", b"OPTIONS /a/b?c=d other.example "),
        ("https://other.example", b"OPTIONS /? other.example "),
        ("https://other.example?x", b"OPTIONS /?x other.example "),
        ("*", b"OPTIONS *? x "),
        ("/a%2Fb//c?", b"OPTIONS /a%2Fb//c? x "),
    ],
)
def test_every_form_of_target_is_understood(run: Any, world: Any, target: str, seen: bytes) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(f"OPTIONS {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await client.response())[2].startswith(seen)

    run(main())


REFUSED = {
    "both lengths": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "both, other order": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        400,
    ),
    "two lengths": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
    "list of lengths": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 4\r\n\r\nabc", 400),
    "signed length": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400),
    "hexadecimal length": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc", 400),
    "huge length": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
    "folded field": (b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n", 400),
    "space before colon": (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    "space before the first field": (b"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    "no name": (b"GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n", 400),
    "NUL in a value": (b"GET / HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n", 400),
    "bare LF in a value": (b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\nX-C: d\r\n\r\n", 400),
    "bare CR in a value": (b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\rX-C: d\r\n\r\n", 400),
    "unknown coding": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    "chunked not last": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
    "chunked twice": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400),
    "almost chunked": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    "chunked in 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 400),
    "later version": (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    "two spaces": (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "bad method": (b"G@T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "bad escape": (b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "relative target": (b"GET api HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "star for a GET": (b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "control byte in target": (b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "line ends without CR": (b"GET / HTTP/1.1\nHost: x\n\n", 400),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "unknown expectation": (b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", 417),
    "bad chunk size": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
    "huge chunk size": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n", 400),
    "chunk longer than it says": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
}


def test_what_could_be_read_two_ways_is_refused_and_ends_the_connection(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener:

            async def status_of(sent: bytes) -> int:
                async with world.h1(listener) as client:
                    client.send(sent)
                    if sent.endswith(b"\r\n\r\n"):
                        client.send(b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
                    status, headers, _ = await client.response()
                    assert headers["connection"] == "close"
                    assert await client.reader.read() == b""
                    return int(status)

            statuses = await asyncio.gather(*(status_of(sent) for sent, _ in REFUSED.values()))
        assert dict(zip(REFUSED, statuses, strict=True)) == {case: status for case, (_, status) in REFUSED.items()}

    run(main())


def test_a_head_over_the_limit_is_431(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            line = b"X-Filler: " + b"a" * 1000 + b"\r\n"
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + line * 1100)
            assert (await client.response())[0] == 431

    run(main())


def test_a_head_just_below_the_limit_is_served(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            assert (await client.get("/", "X-Filler: " + "a" * 1_000_000 + "\r\n"))[0] == 200

    run(main())


async def takes_ten_bytes(request: Request) -> Response:
    try:
        return text(200, str(len(await request.body(10))))
    except BodyTooLarge:
        return text(413, "too large")


@pytest.mark.parametrize("framing", ["Content-Length: 100000000", "Transfer-Encoding: chunked"])
def test_a_body_over_the_limit_is_answered_before_it_is_read(run: Any, world: Any, framing: str) -> None:
    async def main() -> None:
        async with world.serving(takes_ten_bytes) as listener, world.h1(listener) as client:
            client.send(f"PUT / HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode() + b"8000\r\n" + b"x" * 20000)
            status, headers, body = await client.response()
            assert (status, headers["connection"], body) == (413, "close", b"too large")
            assert await client.reader.read() == b""

    run(main())


def test_a_body_of_exactly_the_limit_is_taken(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(takes_ten_bytes) as listener, world.h1(listener) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789")
            assert (await client.response())[2] == b"10"

    run(main())


def test_a_large_body_passes_in_pieces(run: Any, world: Any) -> None:
    async def size(request: Request) -> Response:
        return text(200, str(len(await request.body(10_000_000))))

    async def main() -> None:
        async with world.serving(size) as listener, world.h1(listener) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 5_000_000)
            assert (await client.response())[2] == b"5000000"

    run(main())


def test_100_continue_is_sent_when_the_handler_wants_the_body(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            assert (await client.head())[0] == 100
            client.send(b"hi")
            assert (await client.response())[2].endswith(b" hi")
            assert (await client.get())[0] == 200

    run(main())


def test_a_refusal_without_reading_sends_no_100_and_closes(run: Any, world: Any) -> None:
    async def forbid(request: Request) -> Response:
        return text(403, "no")

    async def main() -> None:
        async with world.serving(forbid) as listener, world.h1(listener) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            status, headers, _ = await client.response()
            assert (status, headers["connection"]) == (403, "close")

    run(main())


def test_head_has_the_length_but_no_body(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            client.send(b"HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n")
            status, headers, _ = await client.response(has_body=False)
            assert (status, headers["content-length"]) == (200, str(len("HEAD /x? x HTTP/1.1 ")))
            assert (await client.get())[0] == 200

    run(main())


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_neither_body_nor_length(run: Any, world: Any, status: int) -> None:
    async def answer(request: Request) -> Response:
        return Response(status, [], b"must not be sent")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            for _ in range(2):
                client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                code, headers, _ = await client.response(has_body=False)
                assert code == status
                assert "content-length" not in headers

    run(main())


def test_http_1_0_closes_unless_asked_to_keep_alive(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener:
            async with world.h1(listener) as client:
                client.send(b"GET / HTTP/1.0\r\n\r\n")
                assert (await client.reader.read()).startswith(b"HTTP/1.0 200 OK\r\n")
            async with world.h1(listener) as client:
                client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                assert (await client.response())[1]["connection"] == "keep-alive"
                client.send(b"GET / HTTP/1.0\r\n\r\n")
                assert (await client.response())[1]["connection"] == "close"

    run(main())


def test_connection_close_is_honoured(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h1(listener) as client:
            _, headers, _ = await client.get("/", "Connection: Close\r\n")
            assert headers["connection"] == "close"
            assert await client.reader.read() == b""

    run(main())


def test_a_handler_that_fails_is_a_500_and_is_logged(run: Any, world: Any) -> None:
    async def fail(request: Request) -> Response:
        raise LookupError("oops")

    async def main() -> None:
        async with world.serving(fail) as listener, world.h1(listener) as client:
            assert (await client.get())[0] == 500
        assert [event for event, _ in world.log.events] == ["request_failed"]

    run(main())


def test_a_stream_that_fails_midway_does_not_end_properly(run: Any, world: Any) -> None:
    async def fail(stream: BodyStream) -> None:
        await stream.write(b"half")
        raise LookupError("oops")

    async def answer(request: Request) -> Response:
        return Response(200, [], stream=fail)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.get()

    run(main())


def test_header_values_cannot_break_their_line(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [(b"location", b"/a\r\nSet-Cookie: evil=1"), (b"x-b", b"c\nd")])

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            _, headers, _ = await client.get()
            assert "set-cookie" not in headers
            assert (headers["location"], headers["x-b"]) == ("/a  Set-Cookie: evil=1", "c d")

    run(main())


def test_hop_by_hop_headers_of_a_handler_are_not_sent(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        headers = [(b"transfer-encoding", b"chunked"), (b"connection", b"close"), (b"content-length", b"99")]
        return Response(200, [*headers, (b"date", b"yesterday")], b"ok")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            for _ in range(2):
                _, headers, body = await client.get()
                assert (headers["content-length"], headers["date"], body) == ("2", "yesterday", b"ok")
                assert "transfer-encoding" not in headers

    run(main())


def test_writes_of_one_turn_leave_as_chunks_in_order(run: Any, world: Any) -> None:
    async def write(stream: BodyStream) -> None:
        for number in range(3):
            stream.write_nowait(b"%d" % number)
        assert stream.buffered >= 3
        await stream.write(b"x" * 100_000)

    async def answer(request: Request) -> Response:
        return Response(200, [], stream=write)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            _, headers, body = await client.get()
            assert headers["transfer-encoding"] == "chunked"
            assert body == b"012" + b"x" * 100_000
            assert (await client.get())[0] == 200

    run(main())


def test_a_stream_of_announced_length_is_not_chunked(run: Any, world: Any) -> None:
    async def write(stream: BodyStream) -> None:
        await stream.write(b"12345")

    async def answer(request: Request) -> Response:
        return Response(200, [(b"content-length", request.query.encode())], stream=write)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            assert (await client.get("/?5"))[2] == b"12345"
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.get("/?6")

    run(main())


def test_write_waits_for_a_slow_reader(run: Any, world: Any) -> None:
    async def main() -> None:
        written = 0
        stuck = asyncio.Event()

        async def write(stream: BodyStream) -> None:
            nonlocal written
            while written < 64 << 20:
                try:
                    async with asyncio.timeout(0.3):
                        await stream.write(b"x" * 65536)
                except TimeoutError:
                    stuck.set()
                    return
                written += 65536

        async def answer(request: Request) -> Response:
            return Response(200, [], stream=write)

        async with world.serving(answer) as listener:
            _, writer = await asyncio.open_connection("127.0.0.1", listener.port, limit=1024)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await stuck.wait()
            assert written < 32 << 20
            writer.transport.abort()

    run(main())


def test_a_client_that_leaves_is_noticed_and_the_handler_goes_on(run: Any, world: Any) -> None:
    async def main() -> None:
        left, finished = asyncio.Event(), asyncio.Event()
        failure: list[type[BaseException]] = []

        async def write(stream: BodyStream) -> None:
            await stream.write(b"begun")
            await left.wait()
            while not stream.closed:
                await asyncio.sleep(0)
            stream.write_nowait(b"into the void")
            try:
                await stream.write(b"more")
            except ClientGone:
                failure.append(ClientGone)
            finished.set()

        async def answer(request: Request) -> Response:
            request.on_disconnect(left.set)
            return Response(200, [], stream=write)

        async with world.serving(answer) as listener:
            async with world.h1(listener) as client:
                client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await client.head()
                await client.chunk()
            await finished.wait()
            assert failure == [ClientGone]

    run(main())


def test_a_client_that_leaves_during_its_body_is_an_error_of_the_read(run: Any, world: Any) -> None:
    async def main() -> None:
        seen: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        begun = asyncio.Event()

        async def answer(request: Request) -> Response:
            begun.set()
            try:
                await request.body(100)
            except ClientGone as error:
                seen.set_result(error)
                raise
            return text(200, "")

        async with world.serving(answer) as listener:
            async with world.h1(listener) as client:
                client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
                await begun.wait()
            assert isinstance(await seen, ClientGone)
        assert world.log.events == []

    run(main())


def test_a_client_may_close_its_sending_half_and_read_on(run: Any, world: Any) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.05)
        return text(200, "late")

    async def main() -> None:
        async with world.serving(slow) as listener, world.h1(listener) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.writer.write_eof()
            assert (await client.response())[2] == b"late"
            assert await client.reader.read() == b""

    run(main())


async def upgrade_to_shout(request: Request) -> Response:
    async def shout(raw: RawStream) -> None:
        while data := await raw.read():
            await raw.write(data.upper())
        await raw.write(b"BYE")
        await raw.close()

    if request.path == "/plain":
        return text(200, "not upgraded")
    return Response(101, [(b"connection", b"Upgrade"), (b"upgrade", b"shout/1")], upgrade=shout)


def test_an_upgrade_hands_over_the_bytes_already_read(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(upgrade_to_shout) as listener, world.h1(listener) as client:
            client.send(b"POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout/1\r\n\r\nhello")
            status, headers, _ = await client.head()
            assert (status, headers["connection"], headers["upgrade"]) == (101, "Upgrade", "shout/1")
            assert await client.reader.readexactly(5) == b"HELLO"
            client.send(b"world" * 100_000)
            assert await client.reader.readexactly(500_000) == b"WORLD" * 100_000
            client.writer.write_eof()
            assert await client.reader.read() == b"BYE"

    run(main())


def test_an_upgrade_request_answered_normally_goes_on_as_http(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(upgrade_to_shout) as listener, world.h1(listener) as client:
            for _ in range(2):
                _, _, body = await client.get("/plain", "Connection: Upgrade\r\nUpgrade: h2c\r\n")
                assert body == b"not upgraded"

    run(main())


def test_a_head_that_never_ends_times_out(run: Any, world: Any) -> None:
    async def main() -> None:
        limits = Limits(header_timeout=0.5, idle_timeout=60)
        async with world.serving(limits=limits) as listener, world.h1(listener) as client:
            assert (await client.get())[0] == 200
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-")
            with contextlib.suppress(ConnectionError):
                assert await client.reader.read() == b""

    run(main())


def test_an_idle_connection_is_closed_but_a_busy_one_is_not(run: Any, world: Any) -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def answer(request: Request) -> Response:
            if request.path == "/busy":
                await release.wait()
            return text(200, "")

        limits = Limits(header_timeout=60, idle_timeout=0.2)
        async with (
            world.serving(answer, limits=limits) as listener,
            world.h1(listener) as idle,
            world.h1(listener) as busy,
        ):
            busy.send(b"GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await idle.get())[0] == 200
            with contextlib.suppress(ConnectionError):
                assert await idle.reader.read() == b""
            release.set()
            assert (await busy.response())[0] == 200

    run(main())


def test_a_client_that_takes_no_answers_is_not_served_without_end(run: Any, world: Any) -> None:
    async def main() -> None:
        served = 0

        async def answer(request: Request) -> Response:
            nonlocal served
            served += 1
            return Response(200, [], b"x" * 100_000)

        async with world.serving(answer) as listener:
            sock = socket.create_connection(("127.0.0.1", listener.port))
            sock.setblocking(False)
            with sock:
                loop = asyncio.get_running_loop()
                sender = loop.create_task(loop.sock_sendall(sock, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 20_000))
                before = -1
                while served != before:
                    before = served
                    await asyncio.sleep(0.3)
                assert served < 1000
                sender.cancel()
                await asyncio.gather(sender, return_exceptions=True)

    run(main())


def test_go_away_closes_after_the_answer(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        request.connection.go_away()
        return text(200, "last")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h1(listener) as client:
            _, headers, body = await client.get()
            assert (headers["connection"], body) == ("close", b"last")
            assert await client.reader.read() == b""

    run(main())
