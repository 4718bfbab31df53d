"""The HTTP client: reuse, limits, and what goes wrong, in Go's words. Real sockets, real TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapi.wire.client import CallError, HTTPClient, Server, client_tls
from kapi.wire.messages import Request, Response, text


async def where_from(request: Request) -> Response:
    body = await request.body(1 << 20)
    return text(200, f"{request.method} {request.path}?{request.query} {request.connection.remote[1]} {body.decode()}")


@contextlib.asynccontextmanager
async def raw_server(*answers: bytes) -> AsyncIterator[int]:
    """Answers each connection's first bytes with the next answer, then closes it."""
    waiting = list(answers)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(waiting.pop(0))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def failure(client: HTTPClient, **options: Any) -> str:
    with pytest.raises(CallError) as caught:
        await client.request("POST", "/hook", b"{}", **{"timeout": 10, **options})
    client.close()
    return str(caught.value)


def test_a_connection_is_kept_and_used_again(run: Any, world: Any) -> None:
    async def scenario() -> None:
        tls = client_tls(world.authority.file.read_bytes())
        async with world.serving(where_from, tls=world.tls()) as listener:
            client = HTTPClient(Server(url=f"https://127.0.0.1:{listener.port}/base", tls=tls))
            first = await client.request("POST", "/a?b=c", b"one", timeout=10)
            second = await client.request("GET", "/a", timeout=10)
            client.close()
        assert first.body.startswith(b"POST /base/a?b=c ") and first.body.endswith(b" one")
        assert second.body.startswith(b"GET /base/a? ")
        assert first.body.split()[2] == second.body.split()[2]

    run(scenario())


def test_concurrent_requests_use_a_connection_each(run: Any, world: Any) -> None:
    async def scenario() -> None:
        async with world.serving(where_from) as listener:
            client = HTTPClient(Server(url=f"http://127.0.0.1:{listener.port}"))
            answers = await asyncio.gather(*(client.request("GET", "/", timeout=10) for _ in range(4)))
            client.close()
        assert len({answer.body.split()[2] for answer in answers}) == 4

    run(scenario())


def test_a_connection_that_was_closed_while_idle_is_replaced(run: Any) -> None:
    async def scenario() -> None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        async with raw_server(answer, answer) as port:
            client = HTTPClient(Server(url=f"http://127.0.0.1:{port}"))
            assert (await client.request("GET", "/", timeout=10)).body == b"ok"
            assert (await client.request("GET", "/", timeout=10)).body == b"ok"
            client.close()

    run(scenario())


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nshort", "unexpected EOF"),
        (b"SSH-2.0\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0"'),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901", "http: response body too large"),
    ],
)
def test_answers_that_are_no_good(run: Any, sent: bytes, message: str) -> None:
    async def scenario() -> None:
        async with raw_server(sent) as port:
            url = f"http://127.0.0.1:{port}"
            assert await failure(HTTPClient(Server(url=url)), limit=10) == f'Post "{url}/hook": {message}'

    run(scenario())


def test_a_body_without_a_length_lasts_until_the_connection_ends(run: Any) -> None:
    async def scenario() -> None:
        async with raw_server(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it") as port:
            client = HTTPClient(Server(url=f"http://127.0.0.1:{port}"))
            assert (await client.request("GET", "/", timeout=10)).body == b"all of it"

    run(scenario())


def test_a_redirection_is_an_answer_and_is_not_followed(run: Any) -> None:
    """Credentials must not go where another server points."""

    async def scenario() -> None:
        async with raw_server() as elsewhere:
            moved = f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{elsewhere}/\r\nContent-Length: 0\r\n\r\n"
            async with raw_server(moved.encode()) as port:
                server = Server(url=f"http://127.0.0.1:{port}", headers=((b"Authorization", b"Bearer secret"),))
                client = HTTPClient(server)
                assert (await client.request("POST", "/", b"{}", timeout=10)).status == 307
                client.close()

    run(scenario())


def test_nobody_listens(run: Any) -> None:
    async def scenario() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            message = await failure(HTTPClient(Server(url=f"http://{address}")))
            named = address.replace("127.0.0.1", "localhost")
            of_name = await failure(HTTPClient(Server(url=f"http://{named}")))
        assert message == f'Post "http://{address}/hook": dial tcp {address}: connect: connection refused'
        assert of_name.startswith(f'Post "http://{named}/hook": dial tcp ')
        assert "dial tcp localhost" not in of_name and of_name.endswith(": connect: connection refused")

    run(scenario())


def test_an_answer_that_takes_too_long(run: Any, world: Any) -> None:
    async def never(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def scenario() -> None:
        async with world.serving(never) as listener:
            url = f"http://127.0.0.1:{listener.port}"
            message = await failure(HTTPClient(Server(url=url)), timeout=0.05)
        assert message == f'Post "{url}/hook": context deadline exceeded'

    run(scenario())


def test_certificates_are_checked(run: Any, world: Any) -> None:
    trusted = world.authority.file.read_bytes()

    async def scenario() -> None:
        async with world.serving(where_from, tls=world.tls()) as listener:
            url = f"https://127.0.0.1:{listener.port}"

            async def problem(**options: Any) -> str:
                return (await failure(HTTPClient(Server(url=url, **options)))).removeprefix(f'Post "{url}/hook": ')

            unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            assert await problem(tls=client_tls()) == unknown
            assert "not valid for the name asked for" in await problem(tls=client_tls(trusted), server_name="other.svc")
            lax = HTTPClient(Server(url=url, tls=client_tls(insecure=True), server_name="other.svc"))
            assert (await lax.request("GET", "/", timeout=10)).status == 200
            # As in Go: the server's own certificate will do as an anchor.
            pinned = HTTPClient(Server(url=url, tls=client_tls(world.cert.read_bytes())))
            assert (await pinned.request("GET", "/", timeout=10)).status == 200
            lax.close()
            pinned.close()
        async with world.serving(where_from) as listener:
            url = f"https://127.0.0.1:{listener.port}"
            assert await problem(tls=client_tls(trusted)) == "http: server gave HTTP response to HTTPS client"

    run(scenario())


def test_another_place_may_stand_behind_the_url(run: Any, world: Any) -> None:
    async def scenario() -> None:
        async with world.serving(where_from, tls=world.tls()) as listener:

            async def resolve() -> tuple[str, int]:
                return "127.0.0.1", listener.port

            async def missing() -> tuple[str, int]:
                raise CallError('service "hook" not found')

            tls, url = client_tls(world.authority.file.read_bytes()), "https://hook.ns.svc:443"
            client = HTTPClient(Server(url=url, tls=tls, server_name="localhost", resolve=resolve))
            assert (await client.request("GET", "/x", timeout=10)).body.startswith(b"GET /x? ")
            client.close()
            message = await failure(HTTPClient(Server(url=url, tls=tls, resolve=missing)))
            assert message == 'Post "https://hook.ns.svc:443/hook": service "hook" not found'

    run(scenario())
