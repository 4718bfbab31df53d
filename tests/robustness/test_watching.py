"""Watches and lists of a real server under load: slow peers, big states, compaction, a store that hangs."""

from __future__ import annotations

import asyncio
import json
import signal
import time

import pytest

COLLECTION = "/api/v1/namespaces/default/configmaps"
UNREAD = "/api/v1/namespaces/default/podtemplates"  # that no part of the server has a use for
NO_CACHE = "--watch-cache=false"
PATIENCE = 30


def config_map(name: str, data: str = "", **labels: str) -> dict:
    return {"metadata": {"name": name, "labels": labels}, "data": {"v": data}}


async def create(client, name: str, data: str = "", **labels: str) -> int:
    answer = await client.request("POST", COLLECTION, config_map(name, data, **labels))
    assert answer.status == 201, answer.body
    return int(answer.json["metadata"]["resourceVersion"])


async def put(client, name: str, data: str) -> int:
    answer = await client.request("PUT", f"{COLLECTION}/{name}", config_map(name, data))
    assert answer.status == 200, answer.body
    return int(answer.json["metadata"]["resourceVersion"])


async def take(stream, count: int) -> list[dict]:
    found: list[dict] = []
    async with asyncio.timeout(PATIENCE):
        async for event in stream.events():
            found.append(event)
            if len(found) == count:
                break
    return found


@pytest.fixture(params=["cached", "uncached"])
def server(request, new_server):
    return new_server(*([NO_CACHE] if request.param == "uncached" else [])).start()


def test_a_slow_watcher_holds_neither_the_others_nor_memory_and_catches_up_or_is_ended(server, new_client):
    async def play() -> None:
        writer, watchers = new_client(server.port), new_client(server.port)
        start = await create(writer, "big")
        path = f"{COLLECTION}?watch=1&resourceVersion={start}"
        slow, quick = await watchers.stream(path), await watchers.stream(path)
        slow.writer.transport.pause_reading()
        before = server.memory()
        revisions = []
        reading = asyncio.create_task(take(quick, 200))
        for i in range(200):
            revisions.append(await put(writer, "big", f"{i}" + "x" * 300_000))
        seen = await reading
        assert [int(e["object"]["metadata"]["resourceVersion"]) for e in seen] == revisions
        assert server.memory() - before < 250 << 20, "the window holds the last states, not each watcher its own"
        slow.writer.transport.resume_reading()
        caught_up = []
        async with asyncio.timeout(PATIENCE):
            async for event in slow.events():
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410
                    break
                caught_up.append(int(event["object"]["metadata"]["resourceVersion"]))
                if caught_up[-1] == revisions[-1]:
                    break
        assert caught_up == revisions[: len(caught_up)]
        assert caught_up

    new_client.run(play)


def test_ten_thousand_objects_are_streamed_while_others_are_served(new_server, new_client):
    server = new_server()
    count = 10_000

    async def fill() -> None:
        from kapi.storage.sqlite import SQLiteKV

        store = SQLiteKV(server.folder / "data" / "kapi.db")
        await store.start()
        for i in range(0, count, 500):
            await asyncio.gather(*(store.create(*stored(f"{j:05}")) for j in range(i, i + 500)))
        await store.close()

    def stored(name: str) -> tuple[str, bytes]:
        metadata = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
        value = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"v": "x" * 500}}
        return f"/registry/configmaps/default/{name}", json.dumps(value, separators=(",", ":")).encode()

    async def probe(client, done: asyncio.Event) -> float:
        longest = 0.0
        while not done.is_set():
            began = time.monotonic()
            assert (await client.request("GET", "/api/v1/namespaces/default")).status == 200
            longest = max(longest, time.monotonic() - began)
        return longest

    async def play() -> None:
        client, other = new_client(server.port), new_client(server.port)
        done = asyncio.Event()
        probing = asyncio.create_task(probe(other, done))
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        stream = await client.stream(f"{COLLECTION}?{query}")
        size, rest = 0, b""
        async with asyncio.timeout(PATIENCE):
            async for chunk in stream.chunks():
                size += chunk.count(b'{"type":"ADDED"')
                rest = chunk[-400:]
                if b"initial-events-end" in rest:
                    break
        done.set()
        assert size == count
        assert await probing < 2.0
        await create(client, "after")
        async with asyncio.timeout(PATIENCE):
            async for chunk in stream.chunks():
                assert json.loads(chunk)["object"]["metadata"]["name"] == "after"
                break
        listing = await client.request("GET", COLLECTION)
        assert len(listing.json["items"]) == count + 1

    asyncio.run(fill())
    server.start()
    new_client.run(play)


def test_a_watch_sees_selector_transitions_and_its_own_name_only(server, new_client):
    async def play() -> None:
        client = new_client(server.port)
        start = await create(client, "first")
        red = await client.stream(f"{COLLECTION}?watch=1&resourceVersion={start}&labelSelector=color%3Dred")
        one = await client.stream(f"{COLLECTION}?watch=1&resourceVersion={start}&fieldSelector=metadata.name%3Dx")
        await create(client, "x", color="red")
        await create(client, "x2", color="blue")
        await put(client, "x", "loses its label")
        await client.request("DELETE", f"{COLLECTION}/x")
        await create(client, "x3", color="red")
        assert [(e["type"], e["object"]["metadata"]["name"]) for e in await take(red, 3)] == [
            ("ADDED", "x"),
            ("DELETED", "x"),
            ("ADDED", "x3"),
        ]
        assert [e["type"] for e in await take(one, 3)] == ["ADDED", "MODIFIED", "DELETED"]

    new_client.run(play)


def test_a_bookmark_comes_before_the_end_and_holds_what_the_type_always_has(server, new_client):
    async def play() -> None:
        client = new_client(server.port)
        start = await create(client, "x")
        query = f"?watch=1&resourceVersion={start}&timeoutSeconds=3&allowWatchBookmarks=true"
        stream = await client.stream(COLLECTION + query)
        elsewhere = await client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "later"}})
        events = [event async for event in stream.events()]
        assert [event["type"] for event in events] == ["BOOKMARK"]
        bookmark = events[0]["object"]
        assert (bookmark["kind"], set(bookmark["metadata"])) == ("ConfigMap", {"resourceVersion"})
        assert int(bookmark["metadata"]["resourceVersion"]) >= start
        query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        leases = await client.stream("/apis/coordination.k8s.io/v1/namespaces/later/leases" + query)
        (end,) = await take(leases, 1)
        assert end["object"]["spec"] == {}
        assert int(end["object"]["metadata"]["resourceVersion"]) >= int(elsewhere.json["metadata"]["resourceVersion"])

    new_client.run(play)


def test_pages_outlive_compaction_with_a_fresh_token(new_server, new_client):
    server = new_server("--etcd-compaction-interval=1s").start()

    async def play() -> None:
        client = new_client(server.port)
        for i in range(5):
            await create(client, f"{i}")
        first = (await client.request("GET", f"{COLLECTION}?limit=2")).json
        token, revision = first["metadata"]["continue"], first["metadata"]["resourceVersion"]
        assert first["metadata"]["remainingItemCount"] == 3
        number = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                await put(client, "4", str(number := number + 1))
                answer = await client.request("GET", f"{COLLECTION}?limit=2&continue={token}")
                if answer.status != 200:
                    break
                assert answer.json["metadata"]["resourceVersion"] == revision
        status = answer.json
        assert (answer.status, status["reason"]) == (410, "Expired")
        rest = await client.request("GET", f"{COLLECTION}?continue={status['metadata']['continue']}")
        assert [item["metadata"]["name"] for item in rest.json["items"]] == ["2", "3", "4"]
        assert int(rest.json["metadata"]["resourceVersion"]) > int(revision)
        exact = await client.request("GET", f"{COLLECTION}?resourceVersion={revision}&resourceVersionMatch=Exact")
        assert (exact.status, exact.json["reason"]) == (410, "Expired")
        future = await client.request("GET", f"{COLLECTION}?resourceVersion=99999999")
        assert (future.status, future.headers["retry-after"]) == (504, "1")
        stream = await client.stream(f"{COLLECTION}?watch=1&resourceVersion=1")
        (error,) = await take(stream, 1)
        assert (error["type"], error["object"]["code"]) == ("ERROR", 410)

    new_client.run(play)


@pytest.mark.etcd
def test_while_the_store_hangs_a_cache_that_was_never_filled_asks_for_patience(new_server, new_etcd, new_client):
    etcd = new_etcd().start()
    server = new_server(f"--etcd-servers={etcd.url}").start()
    process = etcd._process

    async def play() -> None:
        client = new_client(server.port)
        process.send_signal(signal.SIGSTOP)
        try:
            lists = [client.stream(UNREAD + "?resourceVersion=0"), client.stream(UNREAD + "?watch=1")]
            for answer in await asyncio.gather(*lists):
                assert answer.status == 429
                assert int(answer.headers["retry-after"]) >= 1
        finally:
            process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(PATIENCE):
            while (await client.request("GET", UNREAD)).status != 200:
                pass

    new_client.run(play)


def test_the_store_and_its_caches_are_in_the_metrics(new_server, new_client):
    server = new_server("--etcd-count-metric-poll-period=100ms", "--etcd-db-metric-poll-interval=100ms").start()

    async def play() -> None:
        client = new_client(server.port)
        await create(client, "one")
        await client.request("GET", COLLECTION)
        wanted = 'apiserver_resource_objects{group="",resource="configmaps"} '
        async with asyncio.timeout(PATIENCE):
            while True:
                text = (await client.request("GET", "/metrics")).body.decode()
                found = {line.rpartition(" ")[0] + " ": line.rpartition(" ")[2] for line in text.splitlines()}
                if int(found.get(wanted, "0")) > 0:
                    break
        assert int(found['apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} ']) > 0
        assert int(found['kapi_storage_revision{storage_cluster_id="etcd-0"} ']) > 0
        assert found['apiserver_watch_cache_initializations_total{group="",resource="configmaps"} '] == "1"
        assert int(found['watch_cache_capacity{group="",resource="configmaps"} ']) >= 100

    new_client.run(play)
