"""Random traffic while servers are killed with SIGKILL and started again; then the history is checked.

KAPI_LONG=1 kills at least thirty times.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

NAMESPACE = "robust"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
NAMES = [f"n{i}" for i in range(8)]
END = "zz-end"
PATIENCE = 60  # seconds: only a failing test waits that long
KEEP_HISTORY = "--etcd-compaction-interval=0"
REFUSED = (400, 404, 409, 410, 422, 429)  # a write that got this did not happen


def value_of(item: dict[str, Any]) -> tuple[str, int]:
    return item["data"]["v"], int(item["metadata"]["resourceVersion"])


def red(value: str) -> bool:
    return value.endswith("red")


class Traffic:
    """Clients of one or several servers, and what they were told."""

    def __init__(self, servers, history, new_client, gone, seed: int) -> None:
        self.servers, self.history, self.new_client, self.gone = servers, history, new_client, gone
        self.random = random.Random(seed)
        self.up = {server: asyncio.Event() for server in servers}
        for up in self.up.values():
            up.set()
        self.writes: list[Any] = []
        self.reads: list[Any] = []
        self.watched: list[Any] = []
        self.acknowledged = asyncio.Event()
        self.moved = asyncio.Event()
        self.writing = True

    async def ask(self, client, server, method: str, path: str, body: Any = None) -> Any:
        """The answer; None when the connection broke on the way. Waits while the server is down."""
        while True:
            async with asyncio.timeout(PATIENCE):
                await self.up[server].wait()
            try:
                async with asyncio.timeout(PATIENCE):
                    return await client.request(method, path, body)
            except self.gone:
                return None
            except OSError:
                await asyncio.sleep(0.005)  # killed this moment: `up` is about to say so

    # Writers

    async def write(self, number: int) -> None:
        server = self.servers[number % len(self.servers)]
        client = self.new_client(server.port)
        count = 0
        try:
            while self.writing:
                name = self.random.choice(NAMES)
                found = await self.ask(client, server, "GET", f"{COLLECTION}/{name}")
                if found is None or found.status not in (200, 404):
                    continue
                count += 1
                value = f"{number}.{count}-{self.random.choice(('red', 'blue'))}"
                await self.write_once(client, server, name, value, found)
        finally:
            client.close()

    async def write_once(self, client, server, name: str, value: str | None, found) -> bool:
        revision = 0 if found.status == 404 else value_of(found.json)[1]
        if revision and self.random.random() < 0.25:
            value = None
        began = time.monotonic()
        if value is None:
            body: Any = {"preconditions": {"resourceVersion": str(revision)}}
            answer = await self.ask(client, server, "DELETE", f"{COLLECTION}/{name}", body)
        else:
            metadata = {"name": name, "labels": {"color": value.partition("-")[2]}}
            body = {
                "metadata": metadata | ({"resourceVersion": str(revision)} if revision else {}),
                "data": {"v": value},
            }
            method, path = ("PUT", f"{COLLECTION}/{name}") if revision else ("POST", COLLECTION)
            answer = await self.ask(client, server, method, path, body)
        ended = time.monotonic()
        if answer is not None and answer.status in REFUSED:
            return False
        done = answer is not None and answer.status < 300
        got = value_of(answer.json)[1] if done and value is not None else 0
        self.writes.append(self.history.Write(name, value, revision, began, ended, got, done))
        if done:
            self.acknowledged.set()
        return done

    # Readers

    async def read(self, number: int) -> None:
        server = self.servers[number % len(self.servers)]
        client = self.new_client(server.port)
        try:
            while self.writing:
                found = await self.read_once(client, server, limit=3 if number % 2 else 0)
                if found is not None:
                    self.reads.append(found)
        finally:
            client.close()

    async def read_once(self, client, server, limit: int = 0) -> Any:
        """Everything, in pages if there is a limit; None when that was interrupted."""
        began = time.monotonic()
        state: dict[str, tuple[str, int]] = {}
        token, revision = "", 0
        while True:
            query = f"?limit={limit}&continue={token}" if token else f"?limit={limit}"
            answer = await self.ask(client, server, "GET", COLLECTION + query)
            if answer is None or answer.status != 200:
                return None
            listing = answer.json
            assert revision in (0, int(listing["metadata"]["resourceVersion"])), "pages of one list, of one revision"
            revision = int(listing["metadata"]["resourceVersion"])
            state |= {item["metadata"]["name"]: value_of(item) for item in listing["items"]}
            token = listing["metadata"].get("continue", "")
            if not token:
                return self.history.Read(began, time.monotonic(), revision, state)

    # Watchers

    async def watch(self, number: int) -> None:
        h = self.history
        server = self.servers[number % len(self.servers)]
        only_red = number % 3 == 1
        watched = h.Watched(f"watcher {number}", [], red if only_red else h.everything)
        self.watched.append(watched)
        query = "&labelSelector=color%3Dred" if only_red else ""
        client = self.new_client(server.port)
        position = None
        try:
            while True:
                async with asyncio.timeout(PATIENCE):
                    await self.up[server].wait()
                if position is None:
                    position = await self.list_for(watched, client, server, query)
                else:
                    position = await self.follow(watched, client, position, query, seconds=3 if number % 2 else 300)
                self.moved.set()
        finally:
            client.close()

    async def list_for(self, watched, client, server, query: str) -> int | None:
        answer = await self.ask(client, server, "GET", f"{COLLECTION}?{query}")
        if answer is None or answer.status != 200:
            return None
        listing = answer.json
        revision = int(listing["metadata"]["resourceVersion"])
        state = {item["metadata"]["name"]: value_of(item) for item in listing["items"]}
        watched.steps.append(self.history.Listed(revision, state))
        return revision

    async def follow(self, watched, client, position: int, query: str, seconds: int) -> int | None:
        """The position when the watch ended; None when it is too old."""
        path = f"{COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion={position}&timeoutSeconds={seconds}"
        try:
            stream = await client.stream(path + query)
        except (self.gone, OSError):
            await asyncio.sleep(0.005)
            return position
        try:
            if stream.status != 200:
                return position
            async for event in stream.events():
                shown = event["object"]
                if event["type"] == "ERROR":
                    assert shown["code"] == 410, shown
                    return None
                position = self.note(watched, event["type"], shown)
        except self.gone:
            pass
        finally:
            stream.close()
        return position

    def note(self, watched, kind: str, shown: dict[str, Any]) -> int:
        revision = int(shown["metadata"]["resourceVersion"])
        if kind == "BOOKMARK":
            watched.steps.append(self.history.Bookmark(revision))
        else:
            watched.steps.append(self.history.Seen(kind, shown["metadata"]["name"], shown["data"]["v"], revision))
        self.moved.set()
        return revision

    # The whole

    async def settled(self, writes: int) -> None:
        """Until so many more writes have been acknowledged."""
        goal = sum(w.acknowledged for w in self.writes) + writes
        async with asyncio.timeout(PATIENCE):
            while sum(w.acknowledged for w in self.writes) < goal:
                self.acknowledged.clear()
                await self.acknowledged.wait()

    async def kill(self, server) -> None:
        self.up[server].clear()
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        self.up[server].set()

    async def run(self, victims: Callable[[int], Any], kills: int) -> Any:
        async with asyncio.TaskGroup() as group:
            writers = [group.create_task(self.write(i)) for i in range(4)]
            readers = [group.create_task(self.read(i)) for i in range(4)]
            watchers = [group.create_task(self.watch(i)) for i in range(6)]
            for i in range(kills):
                await self.settled(self.random.randint(5, 60))
                await self.kill(victims(i))
            await self.settled(40)
            self.writing = False
            await asyncio.gather(*writers, *readers)
            final = await self.finish()
            for watcher in watchers:
                watcher.cancel()
        return self.history.History(self.writes, self.reads, self.watched, final, {})

    async def finish(self) -> Any:
        """A last write that everybody is waited for to see."""
        server = self.servers[0]
        client = self.new_client(server.port)
        body = {"metadata": {"name": END, "labels": {"color": "red"}}, "data": {"v": "last-red"}}
        began = time.monotonic()
        answer = await self.ask(client, server, "POST", COLLECTION, body)
        assert answer.status == 201
        revision = value_of(answer.json)[1]
        self.writes.append(self.history.Write(END, "last-red", 0, began, time.monotonic(), revision))
        final = await self.read_once(client, server)
        client.close()
        try:
            async with asyncio.timeout(PATIENCE / 2):
                while any(not w.steps or w.steps[-1].revision < revision for w in self.watched):
                    self.moved.clear()
                    await self.moved.wait()
        except TimeoutError:
            pass  # the checker says who missed what
        return final


class Log:
    """A kv.Sink that reads the store's history."""

    def __init__(self) -> None:
        self.changes: dict[int, tuple[str, str | None]] = {}
        self.whole = asyncio.get_running_loop().create_future()

    def events(self, events) -> None:
        for event in events:
            name = event.key.rpartition("/")[2]
            value = None if event.value is None else json.loads(event.value)["data"]["v"]
            self.changes[event.revision] = (name, value)
            if name == END:
                self.whole.set_result(None)

    def progress(self, revision) -> None: ...

    def failed(self, error) -> None:
        self.whole.set_exception(error)


async def read_log(store) -> dict[int, tuple[str, str | None]]:
    """Everything that was ever written, by the store itself. It must not have been compacted."""
    await store.start()
    try:
        log = Log()
        watch = store.watch(f"/registry/configmaps/{NAMESPACE}/", 1, log)
        async with asyncio.timeout(PATIENCE):
            await log.whole
        watch.close()
        return log.changes
    finally:
        await store.close()


@pytest.fixture
def survive(history, new_client, gone, long) -> Callable[..., None]:
    """Runs the traffic with so many kills, and checks its history."""

    def run(servers, open_store, *, kills: int, victims=None) -> None:
        async def play() -> None:
            first = new_client(servers[0].port)
            answer = await first.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            assert answer.status == 201
            first.close()
            traffic = Traffic(servers, history, new_client, gone, seed=random.randrange(1 << 30))
            found = await traffic.run(victims or (lambda i: servers[0]), 30 if long else kills)
            for server in servers:
                server.kill()
            found.log = await read_log(open_store())
            assert history.check(found) == []
            assert len(found.reads) > 10
            assert sum(w.acknowledged for w in found.writes) > 40
            assert all(any(isinstance(s, history.Seen) for s in w.steps) for w in found.watched)

        new_client.run(play)

    return run


def sqlite(server):
    from kapi.storage.sqlite import SQLiteKV

    return SQLiteKV(server.folder / "data" / "kapi.db")


def etcd_store(etcd):
    from kapi.storage.etcd import EtcdConfig, EtcdKV

    return EtcdKV(EtcdConfig(endpoints=(etcd.url,)))


@pytest.mark.timeout(600)
def test_nothing_is_lost_when_a_server_on_sqlite_is_killed(new_server, survive):
    server = new_server(KEEP_HISTORY).start()
    survive([server], lambda: sqlite(server), kills=4)


@pytest.mark.timeout(600)
def test_nothing_is_lost_without_a_watch_cache(new_server, survive):
    server = new_server(KEEP_HISTORY, "--watch-cache=false").start()
    survive([server], lambda: sqlite(server), kills=2)


@pytest.mark.etcd
@pytest.mark.timeout(600)
def test_nothing_is_lost_when_a_server_on_etcd_is_killed(new_server, new_etcd, survive):
    etcd = new_etcd().start()
    server = new_server(KEEP_HISTORY, f"--etcd-servers={etcd.url}").start()
    survive([server], lambda: etcd_store(etcd), kills=3)


@pytest.mark.etcd
@pytest.mark.timeout(600)
def test_two_servers_on_one_etcd_are_one_while_one_of_them_is_killed(new_server, new_etcd, survive):
    etcd = new_etcd().start()
    servers = [new_server(KEEP_HISTORY, f"--etcd-servers={etcd.url}").start() for _ in range(2)]
    survive(servers, lambda: etcd_store(etcd), kills=3, victims=lambda i: servers[1])
