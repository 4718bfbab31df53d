"""Several API servers compact one etcd: one of them per round, and only what is older than a round."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from kapi.storage.etcd import Compactor, EtcdConfig, EtcdKV
from kapi.storage.kv import Compacted

pytestmark = pytest.mark.etcd


@asynccontextmanager
async def engine(url):
    kv = EtcdKV(EtcdConfig(endpoints=(url,)))
    try:
        await kv.start()
        yield kv
    finally:
        await kv.close()


def test_one_of_two_servers_compacts_in_each_round(new_etcd):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            one, two = Compactor(kv, 300), Compactor(kv, 300)
            first = await kv.create("/a", b"1")
            assert [await one.compete(), await two.compete()] == [True, False]
            assert one.compacted == two.compacted == 0  # nothing was old yet
            second = await kv.update("/a", b"2", first)
            assert [await one.compete(), await two.compete()] == [True, False]
            assert one.compacted == two.compacted > first
            with pytest.raises(Compacted):
                await kv.get("/a", first)
            assert (await kv.get("/a", second))[0].value == b"2"

    asyncio.run(check())


def test_another_server_takes_over_when_one_stops(new_etcd):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            one, two = Compactor(kv, 300), Compactor(kv, 300)
            first = await kv.create("/a", b"1")
            await one.compete()
            await two.compete()
            second = await kv.update("/a", b"2", first)
            assert await two.compete()
            assert first < two.compacted < second
            assert not await one.compete()  # back again, it follows
            assert one.compacted == two.compacted

    asyncio.run(check())


def test_the_agreement_is_upstreams_key(new_etcd):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            compactor = Compactor(kv, 300)
            await compactor.compete()
            await compactor.compete()
            key, _ = await kv.get("compact_rev_key")
            assert (key.version, key.value) == (2, str(compactor.compacted).encode())
            await kv.delete("compact_rev_key", key.revision)
            assert not await compactor.compete()  # somebody removed it: from the start again
            assert await compactor.compete()

    asyncio.run(check())


def test_running_compacts_again_and_again_until_cancelled(new_etcd):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            await Compactor(kv, 0).run()  # switched off: returns at once
            compactor = Compactor(kv, 0.01)
            running = asyncio.create_task(compactor.run())
            revision = await kv.create("/a", b"1")
            async with asyncio.timeout(20):
                while compactor.compacted <= revision:
                    await kv.revision()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(check())
