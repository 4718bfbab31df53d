"""Front proxies: whoever comes with a proxy's certificate says in headers whose request it carries.

The certificate must be signed by a CA that signs nothing but proxies, and carry an allowed name: headers of anybody
else are never looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kapi.api.call import Call, Headers
from kapi.api.clock import Clock
from kapi.api.errors import Unauthorized
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.ca_bundle import CABundle
from kapi.authn.peer import PeerCertificate, subject_names
from kapi.authn.x509 import COMMON_NAME

if TYPE_CHECKING:
    from cryptography import x509

_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderNames:
    """Where a proxy says who it is for."""

    user: tuple[str, ...]
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()


class RequestHeader:
    """`allowed` are the proxies' common names; none means any that the CA signed."""

    def __init__(self, bundle: CABundle, allowed: tuple[str, ...], names: HeaderNames, clock: Clock) -> None:
        self._peer = PeerCertificate(bundle, clock, _common_name)
        self._allowed = allowed
        self._users = [name.lower() for name in names.user]
        self._uids = [name.lower() for name in names.uid]
        self._groups = [name.lower() for name in names.group]
        self._prefixes = [name.lower() for name in names.extra_prefix]

    async def authenticate(self, call: Call) -> User | None:
        return self.at_once(call)

    def at_once(self, call: Call) -> User | None:
        name = self._peer.check(call)
        if name is None:
            return None
        if self._allowed and name not in self._allowed:
            raise Unauthorized(f"x509: subject with cn={name} is not in the allowed list")
        headers = call.request.headers
        user = _first(headers, self._users)
        if not user:
            return None
        groups = [group for header in self._groups for group in headers.get_all(header) if group]
        extra = extra_values(headers, self._prefixes)
        return as_authenticated(User(name=user, uid=_first(headers, self._uids), groups=tuple(groups), extra=extra))


def extra_values(headers: Headers, prefixes: list[str]) -> dict[str, tuple[str, ...]]:
    """The headers below these prefixes, by what follows: lower-case, percent-decoded."""
    found: dict[str, tuple[str, ...]] = {}
    for name in headers.names():
        for prefix in prefixes:
            if name.startswith(prefix):
                key = unescape_key(name[len(prefix) :])
                found[key] = found.get(key, ()) + tuple(headers.get_all(name))
    return found


def unescape_key(key: str) -> str:
    """Percent-decoded; as upstream, a key with a sequence that cannot be decoded is taken as it is."""
    return key if _BAD_ESCAPE.search(key) else unquote(key)


def _first(headers: Headers, names: list[str]) -> str:
    for name in names:
        value = (headers.get(name) or "").strip()
        if value:
            return value
    return ""


def _common_name(certificate: x509.Certificate, _: bytes) -> str | None:
    names = subject_names(certificate).get(COMMON_NAME, [])
    return names[-1] if names else ""
