"""Peers that mean harm: each attack ends the connection or is held at a bound, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapi.wire.limits import Limits
from kapi.wire.messages import Request, Response, text

CALM = 0xB
U32 = struct.Struct(">I").pack


def frame(kind: int, flags: int, sid: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, sid) + payload


@contextlib.asynccontextmanager
async def others_are_served(world: Any, listener: Any) -> AsyncIterator[None]:
    yield
    async with world.h2(listener) as client:
        client.request(1)
        assert (await client.response(1))[0] == 200


@pytest.mark.parametrize(
    "flood",
    {
        "ping": frame(6, 0, 0, b"12345678"),
        "settings": frame(4, 0, 0, struct.pack(">HI", 3, 100)),
        "settings acknowledgements": frame(4, 1, 0),
        "priority": frame(2, 0, 9, U32(0) + b"\x10"),
        "unknown frames": frame(77, 0, 0, b"x"),
        "empty data": frame(0, 0, 1),
        "padding only": frame(0, 8, 1, b"\x00"),
        "updates of a stream that is over": frame(8, 0, 3, U32(1)),
    }.items(),
    ids=lambda item: item[0],
)
def test_frames_that_lead_nowhere_end_the_connection(run: Any, world: Any, flood: tuple[str, bytes]) -> None:
    async def answer(request: Request) -> Response:
        await request.body(100)
        return text(200, "")

    async def main() -> None:
        async with (
            world.serving(answer) as listener,
            others_are_served(world, listener),
            world.h2(listener) as client,
        ):
            client.request(1, "PUT", "/", end=False)
            client.request(3, "PUT", "/", end=False)
            client.frame(3, 0, 3, U32(8))
            client.send(flood[1] * 20_000)
            assert await client.ending() == CALM

    run(main())


def test_rapid_reset_is_stopped_and_handlers_stay_bounded(run: Any, world: Any) -> None:
    async def main() -> None:
        running = most = 0

        async def answer(request: Request) -> Response:
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                await asyncio.sleep(0.2 if request.path == "/slow" else 0)
            finally:
                running -= 1
            return text(200, "")

        limits = Limits(max_streams=20)
        async with world.serving(answer, limits=limits) as listener, others_are_served(world, listener):
            async with world.h2(listener) as client:
                with contextlib.suppress(ConnectionError):
                    for sid in range(1, 20_000, 2):
                        client.request(sid, "GET", "/slow")
                        client.frame(3, 0, sid, U32(8))
                        if sid % 101 == 0:
                            await client.writer.drain()
                            await asyncio.sleep(0)
                assert await client.ending() == CALM
            assert most <= 80

    run(main())


def test_streams_that_make_us_reset_them_count_as_resets(run: Any, world: Any) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.1)
        return text(200, "")

    async def main() -> None:
        async with world.serving(slow, limits=Limits(max_streams=20)) as listener, world.h2(listener) as client:
            with contextlib.suppress(ConnectionError):
                for sid in range(1, 4_000, 2):
                    client.request(sid)
                    client.frame(8, 0, sid, U32(0))
            assert await client.ending() == CALM

    run(main())


@pytest.mark.parametrize("fragment", [b"", b"x"])
def test_a_header_block_without_end_is_stopped(run: Any, world: Any, fragment: bytes) -> None:
    async def main() -> None:
        async with (
            world.serving() as listener,
            others_are_served(world, listener),
            world.h2(listener) as client,
        ):
            client.frame(1, 1, 1, client.request_block())
            client.send(frame(9, 0, 1, fragment) * 10_000)
            assert await client.ending() == CALM

    run(main())


def test_a_large_header_block_without_end_is_stopped(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener, world.h2(listener) as client:
            client.frame(1, 1, 1, client.request_block())
            for _ in range(100):
                client.frame(9, 0, 1, b"x" * 100_000)
            assert client.headers((await client.read_until(1))[3])[":status"] == "431"
            assert await client.ending() == CALM

    run(main())


def test_a_small_block_that_decodes_to_a_huge_list_is_stopped(run: Any, world: Any) -> None:
    async def main() -> None:
        async with (
            world.serving() as listener,
            others_are_served(world, listener),
            world.h2(listener) as client,
        ):
            big = client.block((":method", "GET"), (":scheme", "https"), (":path", "/"), ("x-bomb", "a" * 3900))
            # The last field entered the table: one byte repeats all of it.
            client.frame(1, 5, 1, big + b"\xbe" * 200_000)
            assert client.headers((await client.read_until(1))[3])[":status"] == "431"
            assert await client.ending() == CALM

    run(main())


def test_a_client_that_never_reads_is_not_answered_without_end(run: Any, world: Any) -> None:
    async def main() -> None:
        served = 0

        async def answer(request: Request) -> Response:
            nonlocal served
            served += 1
            return Response(204, [(b"x-filler", b"x" * 10_000)])

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.writer.transport.pause_reading()
            client.request_block()
            block = client.request_block()
            sender = asyncio.get_running_loop().create_task(_send_many(client, block))
            before = -1
            while served != before:
                before = served
                await asyncio.sleep(0.3)
            assert served < 6_000
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    run(main())


async def _send_many(client: Any, block: bytes) -> None:
    for sid in range(1, 60_000, 2):
        client.frame(1, 5, sid, block)
        if sid % 99 == 0:
            await client.writer.drain()
            await asyncio.sleep(0)


def test_bodies_in_single_bytes_cost_their_length(run: Any, world: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def answer(request: Request) -> Response:
            await gate.wait()
            return text(200, str(len(await request.body(1 << 20))))

        async with world.serving(answer) as listener, world.h2(listener) as client:
            client.request(1, "PUT", "/", end=False)
            await client.settle()
            data = frame(0, 0, 1, b"x") * 50_000
            tracemalloc.start()
            client.send(data)
            await client.settle()
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            assert held < 600_000
            gate.set()
            client.frame(0, 1, 1)
            assert (await client.response(1))[2] == b"50000"

    run(main())


def test_a_connection_that_never_greets_is_closed(run: Any, world: Any) -> None:
    async def main() -> None:
        limits = Limits(header_timeout=0.2)
        async with (
            world.serving(limits=limits) as listener,
            world.h2(listener, greet=False) as silent,
            world.h2(listener, greet=False) as slow,
        ):
            slow.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0")
            for client in (silent, slow):
                assert await client.ending() in (None, 0)

    run(main())


def test_a_header_block_that_never_ends_is_closed_in_time(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving(limits=Limits(header_timeout=0.2)) as listener, world.h2(listener) as client:
            client.frame(1, 1, 1, client.request_block())
            assert await client.ending() is None

    run(main())


def test_an_answer_that_nobody_takes_is_dropped_in_time(run: Any, world: Any) -> None:
    async def answer(request: Request) -> Response:
        return Response(200, [], b"x" * 100_000)

    async def main() -> None:
        async with world.serving(answer, limits=Limits(stall_timeout=0.2)) as listener, world.h2(listener) as client:
            client.request(1)
            assert (await client.read_until(3))[2:] == (1, U32(8))

    run(main())
