from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kapi.storage.memory import MemoryKV
from tests.storage.encryption.kms_plugin import Plugin
from tests.storage.encryption.vault import Configuration, Vault


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return Configuration(tmp_path / "encryption.yaml")


@pytest.fixture
def play(configuration: Configuration) -> Callable[..., None]:
    """Plays a scenario with a vault; the configuration is written before."""

    def run(scenario: Callable[[Vault], Awaitable[None]], *, cached: bool = True, **how: bool) -> None:
        async def start_play_close() -> None:
            engine = MemoryKV()
            await engine.start()
            vault = Vault(configuration, engine, await configuration.start(**how))
            vault.reopen(vault.encryption, cached=cached)
            try:
                await scenario(vault)
            finally:
                await vault.cacher.close()
                await vault.encryption.close()
                await engine.close()

        asyncio.run(start_play_close())

    return run


@pytest.fixture
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugin]:
    # A socket's path may have a hundred characters, no more.
    made = Plugin(Path(tmp_path_factory.mktemp("kms")) / "s")
    try:
        yield made.start()
    finally:
        made.stop()
