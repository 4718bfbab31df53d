"""Authorizers from a file that may change: a good change replaces them all, a bad one leaves them as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kapi.api.authorizer import Authorizer, KnownRules, RuleSource, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.codec.configuration import ConfigurationError, WatchedFile
from kapi.telemetry.config_reloads import ConfigReloads
from kapi.telemetry.log import log


class Authorizers(NamedTuple):
    """All that are asked, and what they know; `close` ends what they hold open."""

    authorizer: Authorizer
    rules: RuleSource
    close: Callable[[], None]


class ReloadingAuthorizer:
    """`build` makes them from the file's content; it raises ConfigurationError."""

    def __init__(self, file: WatchedFile, build: Callable[[bytes], Authorizers], reloads: ConfigReloads) -> None:
        self._file = file
        self._build = build
        self._reloads = reloads
        self._current = build(file.data)
        reloads.applied(file.data)

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        self._refresh()
        return self._current.authorizer.at_once(user, attributes)

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        self._refresh()
        return await self._current.authorizer.authorize(user, attributes)

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        self._refresh()
        return await self._current.rules.known_rules(user, namespace)

    def _refresh(self) -> None:
        try:
            if not self._file.changed():
                return
            former, self._current = self._current, self._build(self._file.data)
        except (OSError, ConfigurationError) as error:
            log.error("authorization_config_not_reloaded", path=str(self._file.path), error=str(error))
            self._reloads.failed()
            return
        former.close()
        self._reloads.succeeded(self._file.data)
        log.info("authorization_config_reloaded", path=str(self._file.path))
