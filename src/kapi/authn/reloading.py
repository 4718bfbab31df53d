"""Issuers from a file that may change: a good change replaces them once all of them answer, a bad one does nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from kapi.authn.configuration import AuthenticationConfig, read
from kapi.authn.oidc import JWTAuthenticator, JWTAuthenticators
from kapi.authn.provider import ProviderError
from kapi.codec.configuration import CHECK_EVERY, ConfigurationError, WatchedFile
from kapi.telemetry.config_reloads import ConfigReloads
from kapi.telemetry.log import log

_FOUND_SECONDS = 60.0  # for how long new issuers are looked for
_RETRY_SECONDS = 1.0
_ANONYMOUS_CHANGED = "anonymous: Forbidden: changed from initial configuration file"


class ConfigurationWatch:
    """`build` makes the issuers of a configuration; issuers of which others take care are disallowed."""

    def __init__(
        self,
        file: WatchedFile,
        issuers: JWTAuthenticators,
        build: Callable[[AuthenticationConfig], list[JWTAuthenticator]],
        reloads: ConfigReloads,
        disallowed: Sequence[str],
    ) -> None:
        self._file = file
        self._issuers = issuers
        self._build = build
        self._reloads = reloads
        self._disallowed = tuple(disallowed)
        self._anonymous = read(file.data, disallowed).anonymous
        reloads.applied(file.data)

    async def run(self) -> None:
        """For as long as the server runs."""
        waiting = False  # for issuers that could not be found
        while True:
            await asyncio.sleep(CHECK_EVERY)
            try:
                if self._file.changed() or waiting:
                    await self._reload(self._file.data)
                    waiting = False
            except (OSError, ConfigurationError, ProviderError) as error:
                log.error("authentication_config_not_reloaded", path=str(self._file.path), error=str(error))
                self._reloads.failed()
                waiting = isinstance(error, ProviderError)

    async def _reload(self, data: bytes) -> None:
        config = read(data, self._disallowed)
        if config.anonymous != self._anonymous:
            raise ConfigurationError(_ANONYMOUS_CHANGED)
        issuers = self._build(config)
        try:
            await self._found(issuers)
        except ProviderError:
            for issuer in issuers:
                issuer.close()
            raise
        former, self._issuers.issuers = self._issuers.issuers, tuple(issuers)
        for old in former:
            old.close()
        self._reloads.succeeded(data)
        log.info("authentication_config_reloaded", path=str(self._file.path))

    async def _found(self, issuers: Sequence[JWTAuthenticator]) -> None:
        """As upstream: nobody is locked out by issuers that cannot be asked. Raises ProviderError."""
        deadline = asyncio.get_running_loop().time() + _FOUND_SECONDS
        for issuer in issuers:
            while True:
                try:
                    await issuer.provider.ready()
                    break
                except ProviderError:
                    if asyncio.get_running_loop().time() + _RETRY_SECONDS > deadline:
                        raise
                await asyncio.sleep(_RETRY_SECONDS)
