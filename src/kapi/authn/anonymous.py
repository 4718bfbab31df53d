"""Anonymous requests: no credential at all is a user too."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api.call import Call
from kapi.api.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, SYSTEM_PRIVILEGED_GROUP, User


class Anonymous:
    user = User(name=ANONYMOUS, groups=(ALL_UNAUTHENTICATED,))

    def at_once(self, call: Call) -> User | None:
        return None

    async def authenticate(self, call: Call) -> User | None:
        return self.user


class AnonymousOnPaths(Anonymous):
    """On these paths alone: elsewhere a credential is asked for."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)

    async def authenticate(self, call: Call) -> User | None:
        return self.user if call.info.path in self._paths else None


class InsecureSuperuser:
    """Whoever reaches the insecure port: it has neither authentication nor authorization."""

    user = User(name="system:unsecured", groups=(SYSTEM_PRIVILEGED_GROUP, ALL_AUTHENTICATED))

    def at_once(self, call: Call) -> User | None:
        return self.user

    async def authenticate(self, call: Call) -> User | None:
        return self.user
