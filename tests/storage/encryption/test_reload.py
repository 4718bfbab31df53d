"""A configuration that changes while the server runs."""

from __future__ import annotations

import pytest

from kapi.storage.encryption import encryption as encryption_module
from kapi.storage.objects import KEEP
from tests.storage.encryption.vault import SCOPE, key, keyed

OLD, NEW = key("old", "a"), key("new", "b")


async def keep(_):
    return KEEP


def reloads(configuration, status: str) -> list[str]:
    total = configuration.metric("apiserver_encryption_config_controller_automatic_reloads_total")
    return [line for line in total if f'status="{status}"' in line]


def test_a_changed_file_is_used_at_once_and_caches_stay(configuration, play):
    configuration.write(keyed("aescbc", OLD))

    async def scenario(vault):
        await vault.create("a")
        await vault.read("a")
        fills = vault.cacher.fills
        assert await vault.encryption.reload() is None, "nothing has changed"
        configuration.write(keyed("aescbc", NEW, OLD))
        replaced = await vault.encryption.reload()
        assert replaced is not None
        await vault.create("b")
        assert (await vault.stored("b")).startswith(b"k8s:enc:aescbc:v1:new:")
        assert await vault.read("a") == "hidden"
        await vault.objects.update(SCOPE + "a", keep)
        assert (await vault.stored("a")).startswith(b"k8s:enc:aescbc:v1:new:")
        assert vault.cacher.fills == fills
        assert reloads(configuration, "success")[0].endswith(" 1")

    play(scenario, reload=True)


@pytest.mark.parametrize("text", ["", "kind: Nothing", "{"])
def test_a_file_that_cannot_be_used_changes_nothing(configuration, play, text):
    configuration.write(keyed("aescbc", OLD))

    async def scenario(vault):
        await vault.create("a")
        configuration.path.write_text(text)
        assert await vault.encryption.reload() is None
        configuration.path.unlink()
        assert await vault.encryption.reload() is None
        await vault.create("b")
        assert (await vault.stored("b")).startswith(b"k8s:enc:aescbc:v1:old:")
        assert reloads(configuration, "failure")[0].endswith(" 2")

    play(scenario, reload=True)


def test_a_plugin_that_is_not_well_is_not_taken(configuration, play, plugin, monkeypatch):
    monkeypatch.setattr(encryption_module, "_HEALTH_SECONDS", 0.2)
    configuration.write(keyed("aescbc", OLD))
    plugin.healthz = "sealed"

    async def scenario(vault):
        configuration.write(plugin.provider(timeout="100ms"))
        assert await vault.encryption.reload() is None
        await vault.create("a")
        assert (await vault.stored("a")).startswith(b"k8s:enc:aescbc:v1:old:")
        plugin.healthz = "ok"
        replaced = await vault.encryption.reload()
        assert replaced is not None
        await vault.create("b")
        assert (await vault.stored("b")).startswith(b"k8s:enc:kms:v2:vault:")
        ((name, check),) = vault.encryption.health_checks()
        assert (name, await check()) == ("kms-providers", None)

    play(scenario, reload=True)


def test_the_hash_of_the_configuration_in_use_is_told(configuration, play):
    configuration.write(keyed("aescbc", OLD))

    async def scenario(vault):
        (before,) = configuration.metric("apiserver_encryption_config_controller_last_config_info")
        configuration.write(keyed("aescbc", NEW, OLD))
        await vault.encryption.reload()
        (after,) = configuration.metric("apiserver_encryption_config_controller_last_config_info")
        assert 'hash="sha256:' in before
        assert before != after

    play(scenario, reload=True)
