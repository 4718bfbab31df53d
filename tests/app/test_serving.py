"""A port under real clients: many connections, many watches, and what one client may not do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.server_process import Client, Keepalive, Server, free_port

NewServer = Callable[..., Server]
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, size: int = 1) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "x" * size}}


def test_two_hundred_keep_alive_connections_are_served_together(shared_server: Server) -> None:
    with shared_server.client() as client:
        client.create(MAPS, config_map("keep-alive"))
    context = shared_server.tls()

    async def one(everyone: asyncio.Barrier) -> None:
        async with shared_server.connected(context) as connection:
            await everyone.wait()
            for _ in range(5):
                status, body = await connection.get(f"{MAPS}/keep-alive")
                assert status == 200
                assert json.loads(body)["metadata"]["name"] == "keep-alive"
            await everyone.wait()

    async def all_of_them() -> None:
        everyone = asyncio.Barrier(200)
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(one(everyone))

    asyncio.run(all_of_them())


def test_pipelined_requests_are_answered_in_their_order(shared_server: Server) -> None:
    async def run() -> None:
        async with asyncio.timeout(30), shared_server.connected(shared_server.tls()) as connection:
            for _ in range(20):
                connection.send("/version")
                connection.send("/livez/ping")
            for _ in range(20):
                assert b"gitVersion" in (await connection.answer())[1]
                assert (await connection.answer())[1] == b"ok"

    asyncio.run(run())


def test_five_hundred_watches_on_both_protocols_see_the_same_event(shared_server: Server, h2_client: Any) -> None:
    path = f"{MAPS}?watch=true&fieldSelector=metadata.name%3Dwatched"
    over_h1, over_h2, streams = shared_server.tls(), shared_server.tls(alpn="h2"), 80

    async def h1_watch(subscribed: asyncio.Barrier) -> bytes:
        async with shared_server.connected(over_h1) as connection:
            connection.send(path)
            assert await connection.head() == 200
            await subscribed.wait()
            return await connection.chunk()

    async def h2_watch(queue: asyncio.Queue[bytes], subscribed: asyncio.Barrier) -> bytes:
        assert await queue.get() == b"200"
        await subscribed.wait()
        return await queue.get()

    async def create_when_all_watch(subscribed: asyncio.Barrier) -> None:
        await subscribed.wait()
        async with shared_server.connected(over_h1) as connection:
            connection.send(MAPS, "POST", json.dumps(config_map("watched")).encode())
            assert (await connection.answer())[0] == 201

    async def run() -> None:
        subscribed = asyncio.Barrier(501)
        async with asyncio.timeout(90), asyncio.TaskGroup() as group:
            tasks = [group.create_task(h1_watch(subscribed)) for _ in range(100)]
            async with AsyncExitStack() as stack:
                for _ in range(400 // streams):
                    client = await stack.enter_async_context(h2_client(shared_server.port, over_h2))
                    opened = [client.open(path) for _ in range(streams)]
                    tasks += [group.create_task(h2_watch(queue, subscribed)) for queue in opened]
                group.create_task(create_when_all_watch(subscribed))
                events = await asyncio.gather(*tasks)
        assert len(events) == 500
        assert len({bytes(event) for event in events}) == 1
        event = json.loads(events[0])
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "watched")

    asyncio.run(run())


def test_a_watch_of_a_client_that_left_is_forgotten(shared_server: Server) -> None:
    def under_way(client: Client) -> float:
        lines = client.text("/metrics")[1].splitlines()
        return sum(
            float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("apiserver_longrunning_requests{")
        )

    with shared_server.client() as watcher, shared_server.client() as looking:
        before = under_way(looking)
        assert watcher.send("GET", f"{MAPS}?watch=true").status == 200
        assert under_way(looking) == before + 1
        watcher.connection.close()
        for _ in range(10_000):
            if under_way(looking) == before:
                return
    pytest.fail("the watch is still counted")


def test_http2_can_be_turned_off(new_server: NewServer) -> None:
    server = new_server("--disable-http2-serving").start()
    context = server.tls()
    context.set_alpn_protocols(["h2", "http/1.1"])
    raw = socket.create_connection(("127.0.0.1", server.port))
    with context.wrap_socket(raw, server_hostname="localhost") as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"


def test_the_insecure_port_asks_nobody_who_they_are(new_server: NewServer) -> None:
    port = free_port()
    server = new_server(f"--insecure-port={port}", "--authorization-mode=AlwaysDeny").start()
    with Client(port, None) as anyone, server.client("", "") as stranger:
        assert anyone.get("/api/v1/namespaces/default")["metadata"]["name"] == "default"
        assert anyone.create(MAPS, config_map("by-anyone"))
        assert stranger.call("GET", "/api/v1/namespaces/default")[0] == 403


def test_the_insecure_port_is_off_unless_it_is_asked_for(new_server: NewServer) -> None:
    server = new_server().start()
    serving = [line for line in server.log if '"serving"' in line]
    assert len(serving) == 1
    assert "secure=true" in serving[0]


def test_a_body_of_more_than_three_mebibytes_is_too_large(shared_server: Server) -> None:
    with shared_server.client() as client:
        status, body = client.call("POST", MAPS, b'{"pad":"' + b"x" * (3 << 20) + b'"}')
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
    with shared_server.client() as client:
        assert client.text("/readyz") == (200, "ok")


def test_headers_of_more_than_a_mebibyte_are_too_large(shared_server: Server) -> None:
    async def run() -> None:
        async with asyncio.timeout(30), shared_server.connected(shared_server.tls()) as connection:
            connection.writer.write(b"GET /version HTTP/1.1\r\nhost: x\r\nx-pad: " + b"x" * (1 << 20) + b"\r\n\r\n")
            assert await connection.head() == 431

    asyncio.run(run())


def test_a_request_that_is_not_done_in_time_is_ended_with_504(shared_server: Server) -> None:
    async def run() -> None:
        async with asyncio.timeout(30), shared_server.connected(shared_server.tls()) as connection:
            head = f"POST {MAPS}?timeout=100ms HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n"
            connection.writer.write(head.encode() + b"content-type: application/json\r\n\r\n{")
            status, body = await connection.answer()
            assert (status, json.loads(body)["reason"]) == (504, "Timeout")

    asyncio.run(run())


@pytest.mark.parametrize(("timeout", "status"), [("soon", 400), ("0s", 200), ("30s", 200)])
def test_a_request_may_name_its_own_timeout(shared_server: Server, timeout: str, status: int) -> None:
    with shared_server.client() as client:
        assert client.call("GET", f"/api/v1/namespaces/default?timeout={timeout}")[0] == status


def test_requests_beyond_those_in_flight_are_told_to_come_back(new_server: NewServer) -> None:
    """A write whose body does not end takes the only place. The privileged are served all the same."""
    server = new_server("--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1")
    tokens = server.folder / "tokens.csv"
    tokens.write_text("secret,alice,1\n")
    server.start(f"--token-auth-file={tokens}")

    async def run() -> None:
        async with asyncio.timeout(30), AsyncExitStack() as stack:
            slow = await hold_a_place(server, stack)
            with server.client("", token="secret") as alice, server.client() as admin:
                refused = alice.send("POST", MAPS, config_map("second"))
                assert refused.status == 429
                assert refused.headers["retry-after"] == "1"
                assert refused.read() == b"Too many requests, please try again later.\n"
                assert alice.text("/api/v1/namespaces/default")[0] == 200
                assert admin.create(MAPS, config_map("third"))
            slow.writer.write(b" " * 100)
            assert (await slow.answer())[0] == 400
            await hold_a_place(server, stack)

    asyncio.run(run())


async def hold_a_place(server: Server, stack: AsyncExitStack) -> Keepalive:
    """A write in flight: its handler has asked for the body. The server's own writes may take the place at first."""
    while True:
        slow: Keepalive = await stack.enter_async_context(server.connected(server.tls("")))
        head = f"POST {MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer secret\r\ncontent-length: 100\r\n"
        slow.writer.write(head.encode() + b"content-type: application/json\r\nexpect: 100-continue\r\n\r\n")
        status = await slow.head()
        if status == 100:
            return slow
        assert status == 429
