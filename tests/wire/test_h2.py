"""HTTP/2 as clients see it: multiplexing, flow control both ways, streaming, large heads."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

from kapi.wire.limits import Limits
from kapi.wire.messages import BodyStream, BodyTooLarge, ClientGone, Request, Response, text

U32 = struct.Struct(">I").pack


def test_an_answer_carries_lower_case_names_length_and_date(run: Any, world: Any) -> None:
    async def main() -> None:
        async with (
            world.serving(tls=world.tls()) as listener,
            world.h2(listener, ssl=world.client_context("h2"), server_hostname="localhost") as client,
        ):
            client.request(1, "GET", "/a?b=c")
            status, headers, body = await client.response(1)
            assert (status, body) == (200, b"GET /a?b=c test HTTP/2.0 ")
            assert list(headers) == [":status", "content-type", "audit-id", "date", "content-length"]

    run(main())


def test_cleartext_http2_with_prior_knowledge_is_served_even_in_pieces(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener, greet=False) as client:
            settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
            block = client.request_block("GET", "/x")
            request = struct.pack(">I", len(block))[1:] + b"\x01\x05\x00\x00\x00\x01" + block
            for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + request:
                client.send(bytes((byte,)))
                await asyncio.sleep(0)
            assert (await client.response(1))[0] == 200

    run(main())


def test_http2_can_be_disabled(run: Any, world: Any) -> None:
    async def main() -> None:
        async with (
            world.serving(tls=world.tls(), limits=Limits(disable_http2=True)) as listener,
            world.h1(listener, ssl=world.client_context("h2", "http/1.1"), server_hostname="localhost") as client,
        ):
            assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
            assert (await client.get())[0] == 200

    run(main())


def test_streams_are_answered_as_they_finish(run: Any, world: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def answer(request: Request) -> Response:
            if request.path == "/first":
                await gate.wait()
            return text(200, request.path)

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1, "GET", "/first")
            client.request(3, "GET", "/second")
            assert (await client.response(3))[2] == b"/second"
            gate.set()
            assert (await client.response(1))[2] == b"/first"

    run(main())


def test_a_stream_too_many_is_refused_until_another_ends(run: Any, world: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def answer(request: Request) -> Response:
            await gate.wait()
            return text(200, "")

        async with world.serving(answer, limits=Limits(max_streams=3)) as listener, world.h2(listener) as client:
            for sid in (1, 3, 5, 7):
                client.request(sid)
            assert (await client.read_until(3))[2:] == (7, U32(7))
            gate.set()
            assert (await client.response(5))[0] == 200
            client.request(9)
            assert (await client.response(9))[0] == 200

    run(main())


@pytest.mark.parametrize("method", ["FOO", "TRACE", "OPTIONS"])
def test_any_method_reaches_the_handler(run: Any, world: Any, method: str) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener) as client:
            client.request(1, method, "*" if method == "OPTIONS" else "/x")
            assert (await client.response(1))[2].startswith(method.encode())

    run(main())


def test_head_204_and_304_have_no_body(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(int(request.path[1:]), [], b"four")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1, "HEAD", "/200")
            assert (await client.response(1))[1]["content-length"] == "4"
            for sid, status in ((3, 204), (5, 304)):
                client.request(sid, "GET", f"/{status}")
                code, headers, body = await client.response(sid)
                assert (code, body) == (status, b"")
                assert "content-length" not in headers

    run(main())


async def takes_ten_bytes(request: Request) -> Response:
    try:
        return text(200, str(len(await request.body(10))))
    except BodyTooLarge:
        return text(413, "too large")


def test_an_announced_body_over_the_limit_fails_at_once(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(takes_ten_bytes) as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", ("content-length", "11"), end=False)
            assert (await client.response(1))[0] == 413
            kind, _, sid, payload = await client.read_until(3)
            assert (kind, sid, payload) == (3, 1, U32(0))
            client.frame(0, 1, 1, b"x" * 11)  # crossed the reset on the wire
            client.request(3, "PUT", "/", end=False)
            client.frame(0, 1, 3, b"0123456789")
            assert (await client.response(3))[2] == b"10"

    run(main())


def test_a_body_over_the_limit_fails_as_soon_as_it_exceeds_it(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(takes_ten_bytes) as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", end=False)
            client.frame(0, 0, 1, b"x" * 11)
            assert (await client.response(1))[0] == 413

    run(main())


def test_the_window_opens_as_the_handler_reads(run: Any, world: Any) -> None:
    async def size(request: Request) -> Response:
        return text(200, str(len(await request.body(10_000_000))))

    async def main() -> None:
        async with world.serving(size) as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", end=False)
            left, window = 3_000_000, 262144
            while left:
                piece = min(left, window, 100_000)
                client.frame(0, 1 if piece == left else 0, 1, b"x" * piece)
                left -= piece
                window -= piece
                while left and window < 100_000:
                    _, _, sid, payload = await client.read_until(8)
                    window += int.from_bytes(payload, "big") if sid == 1 else 0
            assert (await client.response(1))[2] == b"3000000"

    run(main())


def test_an_unread_body_does_not_open_the_window(run: Any, world: Any) -> None:
    async def ignore(request: Request) -> Response:
        await asyncio.sleep(60)
        return text(200, "")

    async def main() -> None:
        async with world.serving(ignore) as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", end=False)
            await client.settle()
            client.frame(0, 0, 1, b"x" * 262144)
            client.frame(6, 0, 0, b"12345678")
            assert (await client.read_until(6, 8))[:2] == (6, 1)

    run(main())


def test_the_connection_window_is_given_back_for_streams_that_end_early(run: Any, world: Any) -> None:
    async def ignore(request: Request) -> Response:
        return text(403, "")

    async def main() -> None:
        limits = Limits(max_streams=4)
        async with world.serving(ignore, limits=limits) as listener, world.h2(listener) as client:
            window = 4 * 262144
            for sid in range(1, 101, 2):
                client.request(sid, "PUT", "/", end=False)
                client.frame(0, 0, sid, b"x" * 100_000)
                window -= 100_000
                assert (await client.response(sid))[0] == 403
                while window < 200_000:
                    window += int.from_bytes((await client.read_until(8))[3], "big")

    run(main())


def test_100_continue_is_sent_when_the_handler_wants_the_body(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", ("expect", "100-continue"), end=False)
            assert client.headers((await client.read_until(1))[3]) == {":status": "100"}
            client.frame(0, 1, 1, b"hi")
            assert (await client.response(1))[2].endswith(b" hi")

    run(main())


def test_a_body_waits_for_the_peers_windows(run: Any, world: Any) -> None:
    body = bytes(range(256)) * 1000

    async def answer(request: Request) -> Response:
        return Response(200, [], body)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener, greet=False) as client:
            await client.greet(struct.pack(">HI", 4, 0))
            client.request(1)
            await client.read_until(1)
            client.frame(6, 0, 0, b"12345678")
            assert (await client.read_until(0, 6))[0] == 6
            client.frame(8, 0, 1, U32(1))
            assert (await client.read_until(0))[3] == body[:1]
            client.frame(8, 0, 1, U32(len(body)))
            received = body[:1]
            while len(received) < 65535:
                received += (await client.read_until(0))[3]
            client.frame(6, 0, 0, b"12345678")
            assert (await client.read_until(0, 6))[0] == 6
            client.frame(8, 0, 0, U32(1 << 20))
            while len(received) < len(body):
                _, flags, _, piece = await client.read_until(0)
                assert len(piece) <= 16384
                received += piece
            assert (received, flags) == (body, 1)

    run(main())


def test_a_body_that_fits_a_wide_window_is_sent_whole(run: Any, world: Any) -> None:
    body = bytes(range(256)) * 6000

    async def answer(request: Request) -> Response:
        return Response(200, [], body)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener, greet=False) as client:
            await client.greet(struct.pack(">HI", 4, 1 << 30))
            client.frame(8, 0, 0, U32(1 << 30))
            client.request(1)
            assert (await client.response(1))[2] == body

    run(main())


def test_a_window_may_become_negative_by_settings(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [], b"x" * 20)

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener, greet=False) as client:
            await client.greet(struct.pack(">HI", 4, 10))
            client.request(1)
            assert (await client.read_until(0))[3] == b"x" * 10
            client.frame(4, 0, 0, struct.pack(">HI", 4, 2))
            client.frame(8, 0, 1, U32(8))
            client.frame(6, 0, 0, b"12345678")
            assert (await client.read_until(0, 6))[0] == 6
            client.frame(8, 0, 1, U32(10))
            assert (await client.read_until(0))[1::2] == (1, b"x" * 10)

    run(main())


def test_long_bodies_take_turns_with_short_ones(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [], b"x" * (20_000_000 if request.path == "/long" else 20))

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener, greet=False) as client:
            await client.greet(struct.pack(">HI", 4, 1 << 30))
            client.frame(8, 0, 0, U32(1 << 30))
            client.request(1, "GET", "/long")
            client.request(3, "GET", "/short")
            received = 0
            while True:
                _, flags, sid, payload = await client.read_until(0)
                received += len(payload) if sid == 1 else 0
                if sid == 3 and flags & 1:
                    break
            assert received < 20_000_000

    run(main())


def test_header_fields_larger_than_a_frame_are_continued(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [(b"warning", b"w" * 40_000)], b"ok")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1)
            _, flags, _, block = await client.read_until(1)
            assert not flags & 4
            while not flags & 4:
                kind, flags, _, more = await client.read()
                assert kind == 9
                block += more
            assert client.headers(block)["warning"] == "w" * 40_000

    run(main())


def test_header_values_cannot_hold_line_ends(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [(b"location", b"/a\r\nb: c"), (b"connection", b"close")])

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1)
            headers = (await client.response(1))[1]
            assert headers["location"] == "/a  b: c"
            assert "connection" not in headers

    run(main())


@pytest.mark.parametrize("size", [600_000, 3_000_000])
def test_header_fields_over_the_limit_are_431(run: Any, world: Any, size: int) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener) as client:
            block = client.request_block("GET", "/", *((f"x-{n}", "a" * (size // 10)) for n in range(20)))
            client.frame(1, 1, 1, block[:200_000])
            for at in range(200_000, len(block), 200_000):
                client.frame(9, 0, 1, block[at : at + 200_000])
            client.frame(9, 4, 1)
            assert client.headers((await client.read_until(1))[3])[":status"] == "431"

    run(main())


def test_an_oversized_list_that_still_decodes_keeps_the_connection(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(limits=Limits(header_bytes=10_000)) as listener, world.h2(listener) as client:
            client.request(1, "GET", "/", ("x-a", "a" * 11_000))
            assert (await client.response(1))[0] == 431
            client.request(3)
            assert (await client.response(3))[0] == 200

    run(main())


def test_events_of_one_turn_leave_in_one_piece(run: Any, world: Any) -> None:
    async def main() -> None:
        streams: list[BodyStream] = []
        all_open, over = asyncio.Event(), asyncio.Event()

        async def watch(stream: BodyStream) -> None:
            streams.append(stream)
            if len(streams) == 100:
                all_open.set()
            await over.wait()

        async def answer(request: Request) -> Response:
            return Response(200, [], stream=watch)

        async with world.serving(answer) as listener, world.h2(listener) as client:
            for sid in range(1, 200, 2):
                client.request(sid)
            await all_open.wait()
            for _ in range(100):
                await client.read_until(1)
            for stream in streams:
                stream.write_nowait(b"event\n")
                stream.write_nowait(b"")
            # One write of the server is one read here: 100 frames of 9 + 6 bytes.
            assert len(await client.reader.read(1 << 20)) == 1500
            over.set()
            for _ in range(100):
                assert (await client.read_until(0))[1::2] == (1, b"")

    run(main())


def test_write_waits_for_a_slow_reader(run: Any, world: Any) -> None:
    async def main() -> None:
        written = 0
        stuck = asyncio.Event()

        async def write(stream: BodyStream) -> None:
            nonlocal written
            try:
                async with asyncio.timeout(0.3):
                    while True:
                        await stream.write(b"x" * 65536)
                        written += 65536
            except TimeoutError:
                assert stream.buffered > 0
                stuck.set()

        async def answer(request: Request) -> Response:
            return Response(200, [], stream=write)

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1)
            await stuck.wait()
            assert written < 1 << 20

    run(main())


def test_a_reset_stream_is_noticed_and_the_handler_goes_on(run: Any, world: Any) -> None:
    async def main() -> None:
        left, finished = asyncio.Event(), asyncio.Event()

        async def write(stream: BodyStream) -> None:
            await stream.write(b"begun")
            await left.wait()
            assert stream.closed
            stream.write_nowait(b"into the void")
            with pytest.raises(ClientGone):
                await stream.write(b"more")
            finished.set()

        async def answer(request: Request) -> Response:
            request.on_disconnect(left.set)
            return Response(200, [], stream=write) if request.path == "/watch" else text(200, "")

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1, "GET", "/watch")
            await client.read_until(0)
            client.frame(3, 0, 1, U32(8))
            await finished.wait()
            client.request(3)
            assert (await client.response(3))[0] == 200
        assert world.log.events == []

    run(main())


def test_a_lost_connection_is_noticed_by_every_stream(run: Any, world: Any) -> None:
    async def main() -> None:
        left = 0
        begun, all_left = asyncio.Event(), asyncio.Event()

        async def answer(request: Request) -> Response:
            nonlocal left
            if request.path == "/body":
                begun.set()
            try:
                await request.body(100)
            except ClientGone:
                left += 1
                if left == 5:
                    all_left.set()
            return text(200, "")

        async with world.serving(answer) as listener:
            async with world.h2(listener) as client:
                for sid in range(1, 10, 2):
                    client.request(sid, "PUT", "/body", end=False)
                await begun.wait()
                await client.settle()
            await all_left.wait()

    run(main())


def test_a_handler_that_fails_is_a_500_and_a_stream_that_fails_is_reset(run: Any, world: Any) -> None:
    async def fail(stream: BodyStream) -> None:
        await stream.write(b"half")
        raise LookupError("oops")

    async def answer(request: Request) -> Response:
        if request.path == "/stream":
            return Response(200, [], stream=fail)
        raise LookupError("oops")

    async def main() -> None:
        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1)
            assert (await client.response(1))[0] == 500
            client.request(3, "GET", "/stream")
            with pytest.raises(ConnectionResetError):
                await client.response(3)
        assert [event for event, _ in world.log.events] == ["request_failed"] * 2

    run(main())


def test_go_away_lets_requests_under_way_and_on_the_wire_finish(run: Any, world: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def answer(request: Request) -> Response:
            if request.path == "/slow":
                request.connection.go_away()
                await gate.wait()
            return text(200, request.path)

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1, "GET", "/slow")
            assert (await client.read_until(7))[3] == U32(0x7FFFFFFF) + U32(0)
            client.request(3, "GET", "/crossed")
            assert (await client.response(3))[2] == b"/crossed"
            client.frame(6, 1, 0, b"goodbye!")
            assert (await client.read_until(7))[3] == U32(3) + U32(0)
            client.request(5, "GET", "/too-late")
            gate.set()
            assert (await client.response(1))[2] == b"/slow"
            assert await client.reader.read() == b""

    run(main())


def test_an_idle_connection_is_sent_away(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(limits=Limits(idle_timeout=0.2)) as listener, world.h2(listener) as client:
            client.request(1)
            assert (await client.response(1))[0] == 200
            assert await client.ending() == 0

    run(main())


def test_identity_is_kept_per_connection(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        request.connection.identity = (request.connection.identity or 0) + 1
        assert request.connection.remote[0] == "127.0.0.1"
        return text(200, f"{request.connection.identity} {request.connection.secure}")

    async def main() -> None:
        async with world.serving(answer) as listener:
            for _ in range(2):
                async with world.h2(listener) as client:
                    for number in (1, 2):
                        client.request(2 * number + 1)
                        assert (await client.response(2 * number + 1))[2] == f"{number} False".encode()

    run(main())
