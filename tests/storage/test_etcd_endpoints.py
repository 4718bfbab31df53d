"""Reaching etcd: several endpoints, TLS, start-up before etcd, and connections that break half-way."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from kapi.storage.etcd import EtcdConfig, EtcdKV
from kapi.storage.kv import Compacted, StorageError, Unavailable

pytestmark = pytest.mark.etcd


@asynccontextmanager
async def engine(*endpoints, **settings):
    kv = EtcdKV(EtcdConfig(endpoints=endpoints, **settings))
    try:
        await kv.start()
        yield kv
    finally:
        await kv.close()


@pytest.fixture
def refusing():
    """An endpoint where nobody listens: bound, so that nobody else takes it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def silent():
    """An endpoint that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


class Relay:
    """Between an engine and etcd. When `mute`, the next answer is swallowed and the connection closed."""

    def __init__(self, url):
        self._port = int(url.rpartition(":")[2])
        self._tasks = set()
        self.mute = False

    @asynccontextmanager
    async def running(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await asyncio.gather(*self._tasks)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            async with asyncio.TaskGroup() as group:
                there = group.create_task(self._pump(reader, upstream_writer))
                await self._pump(upstream_reader, writer, answers=True)
                there.cancel()
        finally:
            for each in (writer, upstream_writer):
                each.close()

    async def _pump(self, source, sink, *, answers=False):
        try:
            while data := await source.read(65536):
                if answers and self.mute:
                    return
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()


def test_dead_endpoints_are_passed_over_by_reads_writes_and_watches(etcd, refusing, silent, new_recorder):
    async def check():
        async with engine(refusing, silent, etcd.url, dial_timeout=0.5) as kv:
            sink = new_recorder()
            kv.watch("/passed/", await kv.revision(), sink)
            revision = await kv.create("/passed/a", b"1")
            assert (await kv.get("/passed/a"))[0].revision == revision
            await sink.until(lambda s: s.seen)

    asyncio.run(check())


def test_a_write_whose_answer_is_lost_is_not_sent_again(etcd, new_recorder):
    async def check():
        relay = Relay(etcd.url)
        async with relay.running() as lossy, engine(lossy, etcd.url) as kv:
            first = await kv.create("/lost/a", b"1")
            relay.mute = True
            with pytest.raises(Unavailable):
                await kv.update("/lost/a", b"2", first)
            current, _ = await kv.get("/lost/a")
            assert (current.value, current.version) == (b"2", 2)

    asyncio.run(check())


def test_a_read_whose_answer_is_lost_is_read_elsewhere(etcd):
    async def check():
        relay = Relay(etcd.url)
        async with relay.running() as lossy, engine(lossy, etcd.url) as kv:
            await kv.create("/reread/a", b"1")
            relay.mute = True
            assert (await kv.get("/reread/a"))[0].value == b"1"

    asyncio.run(check())


def test_a_watch_whose_connection_breaks_goes_on_elsewhere(etcd, new_recorder):
    async def check():
        relay = Relay(etcd.url)
        async with relay.running() as lossy, engine(lossy, etcd.url) as kv, engine(etcd.url) as other:
            sink = new_recorder()
            kv.watch("/moved/", await kv.revision(), sink)
            await other.create("/moved/0", b"1")
            await sink.until(lambda s: s.seen)
            relay.mute = True
            for i in range(1, 20):
                await other.create(f"/moved/{i}", b"1")
            await sink.until(lambda s: len(s.seen) == 20)
            assert [event.key for event in sink.seen] == [f"/moved/{i}" for i in range(20)]

    asyncio.run(check())


def test_starting_without_etcd_says_what_was_tried_and_what_to_do(refusing):
    async def check():
        told = []
        kv = EtcdKV(EtcdConfig(endpoints=(refusing,)))
        with pytest.raises(Unavailable) as caught:
            await kv.wait_ready(1.5, lambda attempt, why: told.append((attempt, why)))
        wanted = f"etcd not there: tried {refusing}: connection refused; start etcd or pass --etcd-servers"
        assert str(caught.value) == wanted
        assert told == [(1, wanted)]
        with pytest.raises(Unavailable, match="connection refused"):
            await kv.healthy(1.0)
        await kv.close()

    asyncio.run(check())


def test_waiting_ends_when_etcd_comes(new_etcd):
    async def check():
        etcd = new_etcd()
        kv = EtcdKV(EtcdConfig(endpoints=(etcd.url,)))
        told = []
        await kv.wait_ready(30, lambda attempt, why: (told.append(attempt), attempt == 1 and etcd.launch()))
        await kv.healthy(5)
        assert told[0] == 1
        await kv.close()

    asyncio.run(check())


def test_health_is_bounded_by_its_timeout(silent):
    async def check():
        kv = EtcdKV(EtcdConfig(endpoints=(silent,), dial_timeout=20))
        kv.client.open()
        with pytest.raises(Unavailable, match=r"no answer within 0\.2 s"):
            await kv.healthy(0.2)
        await kv.close()

    asyncio.run(check())


def test_tls_with_a_client_certificate(new_etcd, new_etcd_tls, new_recorder):
    async def check():
        files = new_etcd_tls()
        etcd = new_etcd(tls=files).start()
        pair = {"cert_file": str(files.client_cert), "key_file": str(files.client_key)}
        async with engine(etcd.url, ca_file=str(files.ca), **pair) as kv:
            sink = new_recorder()
            kv.watch("/", 0, sink)
            await kv.create("/tls", b"1")
            await sink.until(lambda s: s.seen)

        refusals = {
            "not signed by a CA we trust": {"ca_file": str(new_etcd_tls().ca), **pair},
            "client certificate": {"ca_file": str(files.ca)},
        }
        for message, settings in refusals.items():
            with pytest.raises(StorageError, match=message):
                async with engine(etcd.url, **settings):
                    pass

    asyncio.run(check())


def test_a_watch_that_slept_through_a_compaction_fails(new_etcd, new_recorder):
    async def check():
        etcd = new_etcd().start()
        relay = Relay(etcd.url)
        async with engine(etcd.url) as other, relay.running() as lossy, engine(lossy) as kv:
            sink = new_recorder()
            kv.watch("/", 0, sink)
            revision = await other.create("/a", b"1")
            await sink.until(lambda s: s.seen)
            relay.mute = True
            for _ in range(5):
                revision = await other.update("/a", b"2", revision)
            await other.compact(revision)
            relay.mute = False
            await sink.until(lambda s: s.error)
            assert isinstance(sink.error, Compacted) and sink.error.compacted == revision
            assert len(sink.seen) == 1

    asyncio.run(check())
