"""Ending in order: what was accepted is answered, what is idle is closed, what takes too long is told."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

import pytest

from kapi.wire.bind import Bind
from kapi.wire.listener import serve
from kapi.wire.messages import BodyStream, Request, Response, text


def test_requests_under_way_finish_and_idle_connections_close(run: Any, world: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def answer(request: Request) -> Response:
            if request.path == "/slow":
                await gate.wait()
            return text(200, request.path)

        async with (
            world.serving(answer) as listener,
            world.h1(listener) as busy1,
            world.h1(listener) as idle1,
            world.h2(listener) as busy2,
            world.h2(listener) as idle2,
        ):
            busy1.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            busy2.request(1, "GET", "/slow")
            await idle1.get()
            for client in (busy2, idle2):
                await client.settle()
            while listener.in_flight < 2:
                await asyncio.sleep(0)
            drained = asyncio.get_running_loop().create_task(listener.drain(20))
            assert await idle1.reader.read() == b""
            await idle2.read_until(7)
            idle2.frame(6, 1, 0, b"goodbye!")
            assert await idle2.ending() == 0
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", listener.port)
            assert not drained.done()
            gate.set()
            status, headers, body = await busy1.response()
            assert (status, headers["connection"], body) == (200, "close", b"/slow")
            assert (await busy2.response(1))[2] == b"/slow"
            assert await drained

    run(main())


def test_a_drain_that_takes_too_long_says_so_and_abort_ends_it(run: Any, world: Any) -> None:
    async def main() -> None:
        cancelled = asyncio.Event()

        async def answer(request: Request) -> Response:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return text(200, "")

        async with world.serving(answer) as listener, world.h1(listener) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while not listener.in_flight:
                await asyncio.sleep(0)
            assert not await listener.drain(0.05)
            listener.abort()
            await cancelled.wait()
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.response()

    run(main())


def test_not_one_accepted_request_is_dropped_under_load(run: Any, world: Any) -> None:
    async def main() -> None:
        async def answer(request: Request) -> Response:
            await asyncio.sleep(0.005)
            return text(200, "x" * 5000)

        answered = sent = 0

        async def load(listener: Any) -> None:
            nonlocal answered, sent
            async with world.h2(
                listener, greet=False, ssl=world.client_context("h2"), server_hostname="localhost"
            ) as client:
                client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                client.frame(4, 0, 0)
                client.frame(8, 0, 0, b"\x7f\x00\x00\x00")
                last = 0x7FFFFFFF
                sid = 1
                open_streams: set[int] = set()
                while True:
                    while len(open_streams) < 10 and last == 0x7FFFFFFF:
                        client.request(sid)
                        open_streams.add(sid)
                        sent += 1
                        sid += 2
                    if not open_streams:
                        return
                    kind, flags, stream, payload = await client.read()
                    if kind == 0 and flags & 1:
                        open_streams.discard(stream)
                        answered += 1
                    elif kind == 6 and not flags & 1:
                        client.frame(6, 1, 0, payload)
                    elif kind == 7:
                        last = int.from_bytes(payload[:4], "big")
                        refused = {number for number in open_streams if number > last}
                        sent -= len(refused)
                        open_streams -= refused

        async with world.serving(answer, tls=world.tls()) as listener:
            clients = [asyncio.get_running_loop().create_task(load(listener)) for _ in range(10)]
            while answered < 500:
                await asyncio.sleep(0.01)
            assert await listener.drain(20)
            await asyncio.gather(*clients)
            assert answered == sent

    run(main())


def test_a_stream_under_way_is_told_by_nobody_but_its_handler(run: Any, world: Any) -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def watch(stream: BodyStream) -> None:
            await stream.write(b"begun")
            await over.wait()
            await stream.write(b"over")

        async def answer(request: Request) -> Response:
            return Response(200, [], stream=watch)

        async with world.serving(answer) as listener, world.h1(listener) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.head()
            assert await client.chunk() == b"begun"
            drained = asyncio.get_running_loop().create_task(listener.drain(20))
            await asyncio.sleep(0)
            over.set()
            assert await client.chunk() == b"over"
            assert await client.chunk() == b""
            assert await client.reader.read() == b""
            assert await drained

    run(main())


def test_a_taken_port_is_an_error(run: Any, world: Any) -> None:
    async def main() -> None:
        async with world.serving() as listener:
            with pytest.raises(OSError) as caught:
                await serve(Bind(host="127.0.0.1", port=listener.port), world_handler, log=world.log)
            assert caught.value.errno == errno.EADDRINUSE

    run(main())


async def world_handler(request: Request) -> Response:
    return text(200, "")


def test_a_port_can_be_shared_when_both_permit_it(run: Any, world: Any) -> None:
    async def main() -> None:
        first = await serve(Bind(host="127.0.0.1", port=0, permit_port_sharing=True), world_handler, log=world.log)
        bind = Bind(host="127.0.0.1", port=first.port, permit_port_sharing=True, permit_address_sharing=True)
        second = await serve(bind, world_handler, log=world.log)
        assert second.port == first.port
        first.abort()
        second.abort()

    run(main())


def test_a_bound_socket_is_served_as_it_is(run: Any, world: Any) -> None:
    async def main() -> None:
        bound = socket.create_server(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        listener = await serve(bound, world_handler, log=world.log)
        assert listener.port == port
        async with world.h1(listener) as client:
            assert (await client.get())[0] == 200
        listener.abort()

    run(main())


def test_ipv6_is_served(run: Any, world: Any) -> None:
    async def main() -> None:
        try:
            listener = await serve(Bind(host="::1", port=0), world_handler, log=world.log)
        except OSError:
            pytest.skip("no IPv6 here")
        reader, writer = await asyncio.open_connection("::1", listener.port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 200")
        writer.close()
        listener.abort()

    run(main())
