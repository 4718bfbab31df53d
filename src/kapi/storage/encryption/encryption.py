"""Encryption of one server: the configuration in use, replaced when its file changes and the new one works."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from kapi.api.gvk import GroupResource
from kapi.storage.encryption.configuration import ConfigurationError, content_hash, read_file
from kapi.storage.encryption.load import Environment, Loaded, load
from kapi.storage.encryption.transformer import Transformer, TransformError
from kapi.telemetry.log import log

if TYPE_CHECKING:
    from kapi.storage.encryption.kms.probe import Probe

RELOAD_SECONDS = 60.0
_HEALTH_SECONDS = 10.0
_HEALTH_POLL_SECONDS = 0.1


class Encryption:
    """Made by `start`. Every value asks anew for its transformer, so that a new configuration counts at once."""

    def __init__(self, path: str, environment: Environment, current: Loaded) -> None:
        self._path = path
        self._environment = environment
        self._current = current
        environment.metrics.reloads.applied = current.hash

    @classmethod
    async def start(cls, path: str, environment: Environment) -> Encryption:
        """Raises ConfigurationError."""
        return cls(path, environment, await load(path, environment))

    @property
    def reloads(self) -> bool:
        return self._environment.reload

    def transformer(self, resource: GroupResource) -> Transformer:
        return self._current.transformer(resource)

    def health_checks(self) -> list[tuple[str, Callable[[], Awaitable[str | None]]]]:
        """By name. As upstream: one of all plugins where they may change or are v2, else one of each."""
        if self.reloads or self._current.versions == {"v2"}:
            return [("kms-providers", self._all_problems)]
        return [(f"kms-provider-{i}", partial(_problem, probe)) for i, probe in enumerate(self._current.probes)]

    async def _all_problems(self) -> str | None:
        named = [(f"kms-provider-{i}", await _problem(probe)) for i, probe in enumerate(self._current.probes)]
        problems = [f"{name}: {problem}" for name, problem in named if problem is not None]
        return (problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]") if problems else None

    async def run(self) -> None:
        """Look after the plugins and the file, until cancelled."""
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._current.run())
            while self.reloads:
                await asyncio.sleep(RELOAD_SECONDS)
                replaced = await self.reload()
                if replaced is not None:
                    looking.cancel()
                    looking = group.create_task(self._current.run())
                    group.create_task(_retire(replaced))

    async def reload(self) -> Loaded | None:
        """Use the file's configuration if it has changed and works; the one that was used before, to be closed."""
        reloads = self._environment.metrics.reloads
        try:
            if content_hash(read_file(self._path)) == self._current.hash:
                return None
            fresh = await load(self._path, self._environment)
            await _settle(fresh)
        except ConfigurationError as error:
            reloads.record("failure")
            log.error("encryption_configuration_not_reloaded", path=self._path, error=str(error))
            return None
        replaced, self._current = self._current, fresh
        reloads.record("success")
        reloads.applied = fresh.hash
        log.info("encryption_configuration_reloaded", path=self._path, hash=fresh.hash)
        return replaced

    async def close(self) -> None:
        await self._current.close()


async def _settle(fresh: Loaded) -> None:
    """Until its plugins are well; ConfigurationError when they are not in time."""
    problem: str | None = None
    try:
        async with asyncio.timeout(max(fresh.grace, _HEALTH_SECONDS)):
            for probe in fresh.probes:
                while (problem := await _problem(probe)) is not None:  # noqa: ASYNC110 - it only tells when asked
                    await asyncio.sleep(_HEALTH_POLL_SECONDS)
    except TimeoutError:
        await fresh.close()
        raise ConfigurationError(f"health check for new transformers failed: {problem}") from None


async def _problem(probe: Probe) -> str | None:
    try:
        await probe.check()
    except TransformError as error:
        return str(error)
    return None


async def _retire(replaced: Loaded) -> None:
    """Requests that began with it may still need its plugins."""
    await asyncio.sleep(replaced.grace)
    await replaced.close()
