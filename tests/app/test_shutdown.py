"""Shutdown of a busy server: nothing that was accepted is dropped, and what was acknowledged is kept."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.server_process import Keepalive, Server

NewServer = Callable[..., Server]
ENDINGS = (None, b"RESET", b"LOST", b"REFUSED")
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


@dataclass
class Load:
    """Clients that ask one thing after the other until their connection ends, and then come again until it is refused.

    A request is dropped when its connection ends before it is answered in full. HTTP/1.1 leaves a race: a server may
    close an idle connection while the next request is on its way. These clients are never idle.
    """

    server: Server
    statuses: list[int] = field(default_factory=list)
    created: set[str] = field(default_factory=set)
    dropped: list[str] = field(default_factory=list)
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _clients: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, group: asyncio.TaskGroup, clients: int) -> None:
        context = self.server.tls()
        self._clients = [group.create_task(self.client(number, context)) for number in range(clients)]

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert not all(client.done() for client in self._clients), self.dropped
            self._answered.clear()
            await self._answered.wait()

    async def client(self, number: int, context: ssl.SSLContext) -> None:
        turn = 0
        while True:
            try:
                async with self.server.connected(context) as connection:
                    turn = await self._requests(connection, number, turn)
            except (ConnectionError, ssl.SSLError):
                self._answered.set()
                return

    async def _requests(self, connection: Keepalive, number: int, turn: int) -> int:
        while True:
            turn += 1
            name = f"c{number}-{turn}"
            try:
                if turn % 2:
                    connection.send(MAPS, "POST", json.dumps(config_map(name)).encode())
                else:
                    connection.send(f"{MAPS}/c{number}-{turn - 1}")
                status, _ = await connection.answer()
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                self.dropped.append(f"{name}: {error!r}")
                return turn
            self.statuses.append(status)
            self._answered.set()
            if status == 201:
                self.created.add(name)
            if connection.headers.get("connection") == "close":
                return turn


def test_not_one_accepted_request_is_dropped_under_load(new_server: NewServer) -> None:
    server = new_server("--shutdown-delay-duration=1s").start()
    load = Load(server)

    async def run() -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            load.start(group, clients=50)
            await load.until(lambda: len(load.statuses) >= 500)
            server.send_signal()
            await asyncio.to_thread(server.logged, 'phase="fail-readiness"')
            at_signal = len(load.statuses)
            with server.client() as probe:
                status, body = probe.text("/readyz")
                assert (status, "[-]shutdown failed" in body) == (500, True)
                assert probe.text("/livez") == (200, "ok")
            await asyncio.to_thread(server.logged, 'phase="stop-accepting"')
            # The delay is for load balancers to notice: meanwhile everything is served.
            assert len(load.statuses) > at_signal + 100

    asyncio.run(run())
    assert server.exit_status() == 0
    assert load.dropped == []
    assert set(load.statuses) <= {200, 201}
    assert "connections_cut" not in server.said

    server.start()
    with server.client() as client:
        kept = {item["metadata"]["name"] for item in client.get(MAPS)["items"]}
    assert load.created <= kept


def test_not_one_accepted_stream_is_dropped_under_load(new_server: NewServer, h2_client: Any) -> None:
    server = new_server().start()
    context, endings, enough = server.tls(alpn="h2"), Counter[bytes | None](), asyncio.Event()

    async def ask(client: Any) -> None:
        while not client.gone_away:
            stream = client.open("/api/v1/namespaces/default")
            status = await stream.get()
            while status == b"200" and (ending := await stream.get()) not in ENDINGS:
                assert ending.startswith(b"{")
            endings[ending if status == b"200" else status] += 1
            if endings.total() >= 500:
                enough.set()

    async def run() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            for _ in range(10):
                client = await stack.enter_async_context(h2_client(server.port, context))
                for _ in range(5):
                    group.create_task(ask(client))
            await enough.wait()
            server.send_signal()

    asyncio.run(run())
    assert server.exit_status() == 0
    # A client may safely repeat what was refused: the server has not looked at it.
    assert set(endings) <= {None, b"REFUSED"}


def test_a_request_under_way_is_finished_and_its_connection_closed(new_server: NewServer) -> None:
    server = new_server().start()

    async def run() -> None:
        body = json.dumps(config_map("slow")).encode()
        async with asyncio.timeout(30), server.connected(server.tls()) as connection:
            head = f"POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            connection.writer.write(f"{head}content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert await connection.head() == 100
            server.send_signal()
            await asyncio.to_thread(server.logged, 'phase="drain"')
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", server.port)
            connection.writer.write(body)
            status, created = await connection.answer()
            assert (status, json.loads(created)["metadata"]["name"]) == (201, "slow")
            assert connection.headers["connection"] == "close"
            assert await connection.reader.read() == b""

    asyncio.run(run())
    assert server.exit_status() == 0


def test_watches_on_both_protocols_end_cleanly(new_server: NewServer, h2_client: Any) -> None:
    server = new_server().start()
    over_h1, over_h2 = server.tls(), server.tls(alpn="h2")

    async def h1_watch(watching: asyncio.Barrier) -> None:
        async with server.connected(over_h1) as connection:
            connection.send(f"{MAPS}?watch=true")
            assert await connection.head() == 200
            await watching.wait()
            assert await connection.chunk() == b""
            assert await connection.reader.read() == b""

    async def h2_watch(queue: asyncio.Queue[bytes], watching: asyncio.Barrier) -> None:
        assert await queue.get() == b"200"
        await watching.wait()
        assert await queue.get() is None

    async def run() -> None:
        watching = asyncio.Barrier(61)
        async with asyncio.timeout(30), h2_client(server.port, over_h2) as client, asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(h1_watch(watching))
                group.create_task(h2_watch(client.open(f"{MAPS}?watch=true"), watching))
            await watching.wait()
            server.send_signal()
        assert client.gone_away

    asyncio.run(run())
    assert server.exit_status() == 0
    assert "connections_cut" not in server.said


def test_idle_connections_do_not_hold_it_up(new_server: NewServer) -> None:
    server = new_server().start()

    async def run() -> None:
        async with asyncio.timeout(30), server.connected(server.tls()) as idle, server.connected(server.tls()) as fresh:
            assert (await idle.get("/version"))[0] == 200
            server.send_signal()
            assert await idle.reader.read() == b""
            assert await fresh.reader.read() == b""

    asyncio.run(run())
    assert server.exit_status() == 0


def test_with_retry_after_new_requests_are_sent_elsewhere_until_the_end(new_server: NewServer) -> None:
    server = new_server("--shutdown-send-retry-after").start()

    async def run() -> None:
        body = json.dumps(config_map("slow")).encode()
        async with asyncio.timeout(30), server.connected(server.tls()) as slow:
            head = f"POST {MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            slow.writer.write(f"{head}content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert await slow.head() == 100
            server.send_signal()
            await asyncio.to_thread(server.logged, 'phase="drain"')
            async with server.connected(server.tls()) as late:
                status, _ = await late.get("/api/v1/namespaces")
                assert (status, late.headers["retry-after"], late.headers["connection"]) == (429, "5", "close")
            slow.writer.write(body)
            assert (await slow.answer())[0] == 201

    asyncio.run(run())
    assert server.exit_status() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(new_server: NewServer, number: signal.Signals) -> None:
    server = new_server("--shutdown-delay-duration=1h").start()
    server.send_signal(number)
    server.logged('phase="delay"')
    with server.client() as client:
        assert client.text("/livez") == (200, "ok")
    assert server.stop(number) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_acknowledged_writes_survive_the_end_of_the_process(new_server: NewServer, number: signal.Signals) -> None:
    server = new_server().start()
    load = Load(server)

    async def run() -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            load.start(group, clients=10)
            await load.until(lambda: len(load.created) >= 200)
            server.send_signal(number)

    asyncio.run(run())
    server.exit_status()
    server.start()
    with server.client() as client:
        listed = client.get(MAPS)
        kept = {item["metadata"]["name"]: item for item in listed["items"]}
        assert load.created <= set(kept)
        after = client.create(MAPS, config_map("after"))
    newest = max(int(item["metadata"]["resourceVersion"]) for item in kept.values())
    assert int(after["metadata"]["resourceVersion"]) > newest
