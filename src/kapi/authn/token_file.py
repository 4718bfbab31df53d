"""The token file (`--token-auth-file`): one line per token, with its user, uid and groups.

Tokens are kept and looked up by their hash, so that the time a lookup takes says nothing about them.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.tokens import Authenticated, for_own_audiences
from kapi.telemetry.log import log


class TokenFileError(Exception):
    """The token file cannot be used; the message says why."""


class TokenFile:
    """These tokens know no audience: they are good for `audiences`, those of this API."""

    def __init__(self, users: dict[bytes, User], audiences: tuple[str, ...] = ()) -> None:
        self._users = users
        self._audiences = audiences

    @classmethod
    def load(cls, path: Path, audiences: tuple[str, ...] = ()) -> TokenFile:
        import csv  # only where there is such a file

        users: dict[bytes, User] = {}
        try:
            with path.open(newline="", encoding="utf-8") as file:
                for number, record in enumerate((r for r in csv.reader(file, strict=True) if r), 1):
                    _add(users, path, number, record)
        except OSError as error:
            raise TokenFileError(f"open {path}: {(error.strerror or str(error)).lower()}") from error
        except (csv.Error, UnicodeDecodeError) as error:
            raise TokenFileError(f"token file '{path}': {error}") from error
        return cls(users, audiences)

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        user = self._users.get(_key(token))
        return None if user is None else for_own_audiences(user, self._audiences, audiences)


def _add(users: dict[bytes, User], path: Path, number: int, record: list[str]) -> None:
    if len(record) < 3:
        raise TokenFileError(
            f"token file '{path}' must have at least 3 columns (token, user name, user uid), found {len(record)}"
        )
    token, name, uid = record[:3]
    if not token:
        log.warning("empty_token_in_token_file", path=str(path), record=number)
        return
    key = _key(token)
    if key in users:
        log.warning("duplicate_token_in_token_file", path=str(path), record=number)
    groups = tuple(record[3].split(",")) if len(record) > 3 else ()
    users[key] = as_authenticated(User(name=name, uid=uid, groups=groups))


def _key(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
