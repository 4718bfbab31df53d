"""The memory engine with much history: what the contract suite is too small to reach."""

import asyncio

from kapi.storage.memory import MemoryKV


class Sink:
    def __init__(self):
        self.seen = []
        self.caught_up = asyncio.Event()

    def events(self, events):
        self.seen += events

    def progress(self, revision):
        self.caught_up.set()

    def failed(self, error):
        self.caught_up.set()


def test_a_replay_finds_the_few_events_of_a_quiet_prefix_in_a_long_history():
    async def scenario():
        kv = MemoryKV()
        await kv.start()
        before, expected, busy = kv.current, [], []
        for i in range(50):
            expected.append(await kv.create(f"/registry/quiet/{i:02}", b""))
            busy += await asyncio.gather(*(kv.create(f"/registry/busy/{i}-{n}", b"") for n in range(1000)))
        quiet, loud = Sink(), Sink()
        kv.watch("/registry/quiet/", before, quiet).request_progress()
        kv.watch("/registry/busy/", before, loud).request_progress()
        await quiet.caught_up.wait()
        await loud.caught_up.wait()
        assert [event.revision for event in quiet.seen] == expected
        assert [event.revision for event in loud.seen] == sorted(busy)
        page = await kv.range("/registry/quiet/", revision=expected[30], limit=7)
        assert [item.key for item in page.items] == [f"/registry/quiet/{i:02}" for i in range(7)]
        assert (page.count, page.more) == (31, True)
        await kv.close()

    asyncio.run(scenario())


def test_closed_and_started_again_it_goes_on_where_it_was():
    async def scenario():
        kv = MemoryKV()
        await kv.start()
        revision = await kv.create("/registry/a/x", b"one")
        await kv.close()
        await kv.start()
        assert await kv.update("/registry/a/x", b"two", revision) == revision + 1
        await kv.close()

    asyncio.run(scenario())
