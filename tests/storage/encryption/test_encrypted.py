"""Objects in a store behind encryption: rotation, and what happens when a value cannot be read."""

from __future__ import annotations

import asyncio

import pytest

from kapi.storage import kv
from kapi.storage.objects import KEEP, Query
from tests.storage.encryption.vault import SCOPE, key, keyed

IDENTITY = {"identity": {}}
OLD, NEW = key("old", "a"), key("new", "b")
KINDS = ("aescbc", "aesgcm", "secretbox")


async def keep(_):
    return KEEP


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_stored_under_the_name_of_its_key_and_not_in_plain(configuration, play, kind):
    configuration.write(keyed(kind, OLD))

    async def scenario(vault):
        await vault.create("a")
        stored = await vault.stored("a")
        assert stored.startswith(f"k8s:enc:{kind}:v1:old:".encode())
        assert b"hidden" not in stored
        assert await vault.read("a") == "hidden"
        assert [e.object["metadata"]["name"] for e in (await vault.objects.list(Query(scope=SCOPE))).entries] == ["a"]

    play(scenario)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    ("before", "after", "prefix"),
    [
        ([keyed("aescbc", OLD)], [keyed("aescbc", NEW, OLD)], b"k8s:enc:aescbc:v1:new:"),
        ([keyed("aescbc", OLD)], [keyed("aescbc", NEW), keyed("aescbc", OLD)], b"k8s:enc:aescbc:v1:new:"),
        ([keyed("aescbc", OLD)], [keyed("secretbox", OLD), keyed("aescbc", OLD)], b"k8s:enc:secretbox:v1:old:"),
        ([IDENTITY], [keyed("aesgcm", NEW), IDENTITY], b"k8s:enc:aesgcm:v1:new:"),
        ([keyed("aesgcm", NEW)], [IDENTITY, keyed("aesgcm", NEW)], b'{"kind":"Secret"'),
    ],
)
def test_an_update_that_changes_nothing_moves_an_old_value_to_the_new_key(
    configuration, play, before, after, prefix, cached
):
    configuration.write(*before)

    async def scenario(vault):
        await vault.create("a")
        first = await vault.stored("a")
        unmoved, _ = await vault.objects.update(SCOPE + "a", keep)
        assert await vault.stored("a") == first, "it is stored as it should be"

        await vault.cacher.close()
        configuration.write(*after)
        vault.reopen(await configuration.start(), cached=cached)
        assert await vault.read("a") == "hidden"
        moved, _ = await vault.objects.update(SCOPE + "a", keep)
        assert moved.revision > unmoved.revision
        assert (await vault.stored("a")).startswith(prefix)
        assert await vault.read("a") == "hidden"
        again, _ = await vault.objects.update(SCOPE + "a", keep)
        assert again.revision == moved.revision

    play(scenario)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("aescbc", "no matching key was found for the provided AES transformer"),
        ("secretbox", "no matching key was found for the provided Secretbox transformer"),
    ],
)
def test_without_its_key_a_value_is_told_of_and_stays_as_it_is(configuration, play, kind, message):
    configuration.write(keyed(kind, OLD))

    async def scenario(vault):
        await vault.create("a")
        await vault.create("b")
        first = await vault.stored("a")
        await vault.cacher.close()
        configuration.write(keyed(kind, NEW))
        vault.reopen(await configuration.start())
        await vault.create("c")

        corrupt = f"data from the storage is not transformable revision=0: {message}"
        with pytest.raises(kv.Corrupt) as one:
            await vault.read("a")
        assert str(one.value) == corrupt
        assert one.value.key == SCOPE + "a"
        with pytest.raises(kv.CorruptObjects) as listed:
            await vault.objects.list(Query(scope=SCOPE))
        assert [error.key for error in listed.value.errors] == [SCOPE + "a", SCOPE + "b"]
        assert str(listed.value).endswith("(and 1 more)")
        with pytest.raises(kv.Corrupt):
            await vault.objects.update(SCOPE + "a", keep)
        with pytest.raises(kv.Corrupt):
            await vault.objects.delete(SCOPE + "a", lambda entry: None)
        assert await vault.stored("a") == first
        assert await vault.read("c") == "hidden", "what can be read is read"

        await vault.cacher.close()
        configuration.write(keyed(kind, NEW, OLD))
        vault.reopen(await configuration.start())
        assert await vault.read("a") == "hidden"

    play(scenario)


def test_without_the_provider_no_prefix_matches(configuration, play):
    configuration.write(keyed("aescbc", OLD))

    async def scenario(vault):
        await vault.create("a")
        await vault.cacher.close()
        configuration.write(keyed("secretbox", OLD))
        vault.reopen(await configuration.start())
        with pytest.raises(kv.Corrupt, match="no matching prefix found"):
            await vault.read("a")
        configuration.write(IDENTITY)
        vault.reopen(await configuration.start())
        with pytest.raises(kv.Corrupt, match="no matching prefix found"):
            await vault.read("a")

    play(scenario)


def test_another_secret_under_the_same_name_does_not_open_it(configuration, play):
    configuration.write(keyed("aesgcm", OLD))

    async def scenario(vault):
        await vault.create("a")
        configuration.write(keyed("aesgcm", key("old", "z")))
        vault.reopen(await configuration.start())
        with pytest.raises(kv.Corrupt, match="cipher: message authentication failed"):
            await vault.read("a")

    play(scenario)


def test_a_value_cannot_be_passed_off_as_anothers(configuration, play):
    configuration.write(keyed("aesgcm", OLD))

    async def scenario(vault):
        await vault.create("a")
        await vault.engine.create(SCOPE + "b", await vault.stored("a"))
        with pytest.raises(kv.Corrupt, match="cipher: message authentication failed"):
            await vault.read("b")

    play(scenario)


def test_a_conflicting_write_is_computed_again_from_the_decrypted_state(configuration, play):
    configuration.write(keyed("aesgcm", OLD))

    async def scenario(vault):
        await vault.create("a")
        with pytest.raises(kv.Conflict) as conflict:
            await vault.kv.update(SCOPE + "a", b"{}", kv.NO_REVISION)
        assert b"hidden" in conflict.value.current.value
        found, _ = await vault.kv.get(SCOPE + "a")
        _, before = await vault.kv.delete(SCOPE + "a", found.revision)
        assert b"hidden" in before.value

    play(scenario)


@pytest.mark.parametrize("cached", [True, False])
def test_a_damaged_value_ends_a_watch_with_the_reason(configuration, play, cached):
    configuration.write(keyed("aesgcm", OLD))

    class Watcher:
        scope = SCOPE

        def __init__(self) -> None:
            self.seen: list[str] = []
            self.end = asyncio.get_running_loop().create_future()

        def deliver(self, event) -> None:
            self.seen.append(event.key.removeprefix(SCOPE))

        def ended(self, error) -> None:
            if not self.end.done():
                self.end.set_result(error)

    async def scenario(vault):
        feed = await vault.objects.feed(SCOPE, newest=True)
        watcher = Watcher()
        feed.attach(watcher, await feed.now())
        await vault.create("a")
        await vault.engine.create(SCOPE + "b", b"k8s:enc:aesgcm:v1:old:damaged")
        async with asyncio.timeout(20):
            error = await watcher.end if not cached else None
            with pytest.raises(kv.CorruptObjects):
                while True:  # the cache learns of it by its event
                    await vault.objects.list(Query(scope=SCOPE))
        assert watcher.seen == ["a"]
        if not cached:
            assert isinstance(error, kv.Corrupt)
        found, _ = await vault.engine.get(SCOPE + "b")
        await vault.engine.delete(SCOPE + "b", found.revision)
        assert len((await vault.objects.list(Query(scope=SCOPE))).entries) == 1

    play(scenario, cached=cached)


def test_transformations_are_counted(configuration, play):
    configuration.write(keyed("aescbc", OLD))

    async def scenario(vault):
        await vault.create("a")
        vault.reopen(vault.encryption, cached=False)
        await vault.read("a")
        total = configuration.metric("apiserver_storage_transformation_operations_total")
        assert (
            'apiserver_storage_transformation_operations_total{resource="secrets",transformation_type="to_storage",'
            'transformer_prefix="k8s:enc:aescbc:v1:",status="OK"} 1'
        ) in total
        assert any('transformation_type="from_storage",transformer_prefix="old:",status="OK"} 1' in t for t in total)
        assert configuration.metric("apiserver_storage_transformation_duration_seconds_count")

    play(scenario)
