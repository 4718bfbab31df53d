"""KMS plugins, behind real sockets: keys that are fetched and kept, key ids that change, plugins that fail."""

from __future__ import annotations

import asyncio

import pytest

from kapi.storage import kv
from kapi.storage.encryption.kms import kms_pb2 as pb
from kapi.storage.objects import KEEP, Query
from tests.storage.encryption.vault import SCOPE, key, keyed

PREFIX = b"k8s:enc:kms:v2:vault:"


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        return self.time

    monotonic = now


@pytest.fixture
def clock(configuration):
    configuration.clock = Clock()
    return configuration.clock


async def keep(_):
    return KEEP


def stored_object(value: bytes) -> pb.EncryptedObject:
    assert value.startswith(PREFIX)
    return pb.EncryptedObject.FromString(value[len(PREFIX) :])


def probe_of(vault):
    return vault.encryption._current.probes[0]


def test_one_seed_is_made_at_the_start_and_used_for_all(configuration, play, plugin):
    configuration.write(plugin.provider())

    async def scenario(vault):
        for name in "abc":
            await vault.create(name)
        assert await vault.read("b") == "hidden"
        assert plugin.calls == ["Status", "Encrypt"]
        stored = [stored_object(await vault.stored(name)) for name in "ab"]
        assert stored[0].key_id == "key-1"
        assert stored[0].encrypted_dek_source_type == pb.HKDF_SHA256_XNONCE_AES_GCM_SEED
        assert dict(stored[0].annotations) == {"unit.example.com": b"\x00\x01"}
        assert stored[0].encrypted_dek_source == stored[1].encrypted_dek_source
        assert stored[0].encrypted_data[:32] != stored[1].encrypted_data[:32]

    play(scenario)


@pytest.mark.parametrize("cached", [True, False])
def test_a_server_that_starts_again_fetches_a_seed_once(configuration, play, plugin, cached):
    configuration.write(plugin.provider())

    async def scenario(vault):
        for name in "abc":
            await vault.create(name)
        await vault.encryption.close()
        vault.reopen(await configuration.start(), cached=cached)
        plugin.calls.clear()
        assert len((await vault.objects.list(Query(scope=SCOPE))).entries) == 3
        assert await vault.read("a") == "hidden"
        assert plugin.calls == ["Decrypt"]
        assert configuration.metric("apiserver_envelope_encryption_dek_source_cache_size") == [
            'apiserver_envelope_encryption_dek_source_cache_size{provider_name="vault"} 1'
        ]

    play(scenario, cached=cached)


def test_a_new_key_id_makes_a_new_seed_and_old_values_stale(configuration, play, plugin, clock):
    configuration.write(plugin.provider())

    async def scenario(vault):
        await vault.create("a")
        unmoved, _ = await vault.objects.update(SCOPE + "a", keep)
        plugin.key_id = "key-2"
        clock.time += 60
        assert await probe_of(vault).look()
        await vault.create("b")
        assert stored_object(await vault.stored("b")).key_id == "key-2"
        assert await vault.read("a") == "hidden"
        moved, _ = await vault.objects.update(SCOPE + "a", keep)
        assert moved.revision > unmoved.revision
        assert stored_object(await vault.stored("a")).key_id == "key-2"

    play(scenario)


def test_while_the_plugin_is_ill_the_last_seed_writes_for_three_minutes_and_reads_for_good(
    configuration, play, plugin, clock
):
    configuration.write(plugin.provider())

    async def scenario(vault):
        await vault.create("a")
        plugin.fails = "Status"
        clock.time += 100
        assert not await probe_of(vault).look()
        await vault.create("b")
        clock.time += 81
        with pytest.raises(kv.EncryptionFailed) as raised:
            await vault.create("c")
        assert str(raised.value).startswith('encryptedDEKSource with keyID hash "sha256:')
        assert str(raised.value).endswith("expired at 1970-01-12T13:49:40Z (current time is 1970-01-12T13:49:41Z)")
        assert await vault.read("b") == "hidden"
        plugin.fails = ""
        clock.time += 10
        assert await probe_of(vault).look()
        await vault.create("c")
        assert stored_object(await vault.stored("c")).key_id == "key-1", "the same key id goes on with the same seed"
        assert plugin.calls.count("Encrypt") == 1

    play(scenario)


def test_a_server_starts_without_its_plugin_and_writes_when_it_comes(configuration, play, plugin, clock):
    plugin.stop()
    configuration.write(plugin.provider(timeout="200ms"))

    async def scenario(vault):
        vault.reopen(vault.encryption, cached=False)
        with pytest.raises(kv.EncryptionFailed, match="got unexpected nil transformer"):
            await vault.create("a")
        plugin.start()
        clock.time += 10
        async with asyncio.timeout(20):
            while not await probe_of(vault).look():
                clock.time += 10
        await vault.create("a")
        assert await vault.read("a") == "hidden"

    play(scenario, cached=False)


def test_a_value_is_not_lost_when_its_key_cannot_be_fetched(configuration, play, plugin):
    configuration.write(plugin.provider())

    async def scenario(vault):
        await vault.create("a")
        first = await vault.stored("a")
        await vault.encryption.close()
        vault.reopen(await configuration.start())
        plugin.fails = "Decrypt"
        with pytest.raises(kv.Corrupt) as raised:
            await vault.read("a")
        assert str(raised.value) == (
            "data from the storage is not transformable revision=0: failed to decrypt DEK, error: "
            "rpc error: code = FailedPrecondition desc = the vault is sealed"
        )
        assert await vault.stored("a") == first
        plugin.fails = ""
        assert await vault.read("a") == "hidden"

    play(scenario)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"healthz": "sealed"}, "got unexpected healthz status: sealed"),
        ({"version": "v9"}, "expected KMSv2 API version v2, got v9"),
        ({"key_id": ""}, 'got invalid KMSv2 KeyID hash "": keyID is empty'),
        ({"key_id": "x" * 1025}, "keyID is 1025 bytes, which exceeds the max size of 1024"),
        ({"version": "v2beta1"}, "KMSv2 API version should not change after the initial status response version v2"),
        ({"key_id": "key-2", "encrypts_with": "key-3"}, 'failed to rotate DEK uid="'),
        ({"key_id": "key-2", "fails": "Encrypt"}, "errGen=failed to encrypt DEK, error: rpc error: code = Failed"),
        ({"fails": "Status"}, "failed to perform status section of the healthz check for KMS Provider vault, error:"),
        ({"key_id": "key-2", "annotations": {"nodots": b""}}, "failed to validate annotations: annotations: Invalid"),
        ({"key_id": "key-2", "annotations": {"a.b": b"x" * 33000}}, "which exceeds the max size of 32768"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_said_by_its_health_check(configuration, play, plugin, clock, change, message):
    configuration.write(plugin.provider())

    async def scenario(vault):
        ((name, check),) = vault.encryption.health_checks()
        assert name == "kms-providers"
        assert await check() is None
        for attribute, value in change.items():
            setattr(plugin, attribute, value)
        assert await check() is None, "an answer is good for a while"
        clock.time += 21
        problem = await check()
        assert problem.startswith("kms-provider-0: ")
        assert message in problem

    play(scenario)


def test_a_key_that_was_stored_before_seeds_is_read_and_stale(configuration, play, plugin):
    """Before 1.29, KMS v2 stored the data key itself."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    configuration.write(plugin.provider())
    data_key, nonce, place = b"d" * 32, b"n" * 12, SCOPE + "a"
    value = b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"stringData":{"data":"old"}}'
    stored = pb.EncryptedObject(
        encrypted_data=nonce + AESGCM(data_key).encrypt(nonce, value, place.encode()),
        key_id="key-1",
        encrypted_dek_source=b"key-1|" + data_key,
        annotations=plugin.annotations,
    )

    async def scenario(vault):
        await vault.engine.create(place, PREFIX + stored.SerializeToString())
        assert await vault.read("a") == "old"
        await vault.objects.update(place, keep)
        kind = stored_object(await vault.stored("a")).encrypted_dek_source_type
        assert kind == pb.HKDF_SHA256_XNONCE_AES_GCM_SEED

    play(scenario)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"\xff\xff", "proto: "),
        (b"", "encrypted data is empty"),
        (pb.EncryptedObject(encrypted_data=b"x"), "encrypted DEK source is empty"),
        (pb.EncryptedObject(encrypted_data=b"x", encrypted_dek_source=b"y"), "keyID is empty"),
        (pb.EncryptedObject(encrypted_data=b"x", encrypted_dek_source_type=7), "unknown encryptedDEKSourceType: 7"),
    ],
)
def test_a_damaged_envelope_is_told_of(configuration, play, plugin, stored, message):
    configuration.write(plugin.provider())
    data = stored if isinstance(stored, bytes) else stored.SerializeToString()

    async def scenario(vault):
        await vault.engine.create(SCOPE + "a", PREFIX + data)
        with pytest.raises(kv.Corrupt, match=message):
            await vault.read("a")

    play(scenario)


def test_an_event_whose_seed_is_unknown_waits_for_it_and_keeps_its_place(configuration, play, plugin):
    """As on etcd, where another server has written with a seed of its own."""
    configuration.write(plugin.provider())

    class Watcher:
        scope = SCOPE

        def __init__(self) -> None:
            self.seen: asyncio.Queue[str] = asyncio.Queue()

        def deliver(self, event) -> None:
            self.seen.put_nowait(event.key.removeprefix(SCOPE))

        def ended(self, error) -> None:
            raise AssertionError(error)

    async def scenario(vault):
        from tests.storage.encryption.vault import Vault

        other = Vault(configuration, vault.engine, await configuration.start())
        feed = await vault.objects.feed(SCOPE, newest=True)
        watcher = Watcher()
        feed.attach(watcher, await feed.now())
        await other.create("a")
        await vault.create("b")
        await other.create("c")
        async with asyncio.timeout(20):
            assert [await watcher.seen.get() for _ in "abc"] == ["a", "b", "c"]
        assert plugin.calls.count("Decrypt") == 1
        feed.detach(watcher)
        await other.encryption.close()

    play(scenario, cached=False)


@pytest.mark.parametrize("cachesize", [2, -1])
def test_kms_v1_has_a_key_for_every_write(configuration, play, plugin, cachesize):
    configuration.write(plugin.provider("v1", cachesize=cachesize))

    async def scenario(vault):
        for name in "abcd":
            await vault.create(name)
        assert plugin.calls == ["Version", *["Encrypt"] * 4]
        stored = await vault.stored("a")
        assert stored.startswith(b"k8s:enc:kms:v1:vault:\x00\x20")
        assert [e.object["metadata"]["name"] for e in (await vault.objects.list(Query(scope=SCOPE))).entries] == list(
            "abcd"
        )
        plugin.fails = "Encrypt"
        with pytest.raises(
            kv.EncryptionFailed, match="rpc error: code = FailedPrecondition desc = the vault is sealed"
        ):
            await vault.create("e")
        assert (await vault.engine.get(SCOPE + "e"))[0] is None

    play(scenario, kms_v1=True)


def test_kms_v1_is_checked_by_encrypting_a_word(configuration, play, plugin, clock):
    configuration.write(plugin.provider("v1", name="one"), plugin.provider("v1", name="two"))

    async def scenario(vault):
        checks = dict(vault.encryption.health_checks())
        assert list(checks) == ["kms-provider-0", "kms-provider-1"]
        assert await checks["kms-provider-1"]() is None
        plugin.fails = "Decrypt"
        clock.time += 21
        assert await checks["kms-provider-1"]() == (
            "failed to perform decrypt section of the healthz check for KMS Provider two, error: rpc error: code = "
            "FailedPrecondition desc = the vault is sealed"
        )

    play(scenario, kms_v1=True)


def test_a_kms_v1_plugin_of_another_version_is_refused(configuration, play, plugin):
    plugin.version = "v1alpha1"
    configuration.write(plugin.provider("v1"))

    async def scenario(vault):
        with pytest.raises(
            kv.EncryptionFailed,
            match="KMS provider api version v1alpha1 is not supported, only v1beta1 is supported now",
        ):
            await vault.create("a")

    play(scenario, kms_v1=True)


def test_from_keys_in_a_file_to_kms_and_back(configuration, play, plugin):
    static = keyed("aescbc", key("k", "a"))
    configuration.write(static)

    async def scenario(vault):
        await vault.create("a")
        for providers, prefix in (
            ([plugin.provider(), static], PREFIX),
            ([static, plugin.provider()], b"k8s:enc:aescbc:v1:k:"),
        ):
            await vault.cacher.close()
            await vault.encryption.close()
            configuration.write(*providers)
            vault.reopen(await configuration.start())
            await vault.objects.update(SCOPE + "a", keep)
            assert (await vault.stored("a")).startswith(prefix)
            assert await vault.read("a") == "hidden"

    play(scenario)
