"""Continue tokens: where a paged list goes on, in upstream's encoding."""

from __future__ import annotations

import base64
import posixpath
import re
from typing import NamedTuple

import orjson

from kapi.api.objects import Revision

_VERSION = "meta.k8s.io/v1"
# A token with this revision continues at the newest state: the consistent one has been compacted.
INCONSISTENT = Revision(-1)
_HIGHEST = (1 << 63) - 1


class InvalidToken(ValueError):
    """The token was not made by a server like this one."""


class Continuation(NamedTuple):
    start: str  # relative to the list's prefix
    revision: Revision

    def encode(self) -> str:
        data = {"v": _VERSION, "rv": self.revision, "start": "/" + self.start}
        return base64.urlsafe_b64encode(orjson.dumps(data)).rstrip(b"=").decode()

    @classmethod
    def decode(cls, token: str) -> Continuation:
        data = _decode_json(_decode_base64(token))
        version = data.get("v", "")
        if version != _VERSION:
            raise InvalidToken(f"continue key is not valid: server does not recognize this encoded version {version}")
        revision, start = data.get("rv", 0), data.get("start", "")
        if not isinstance(revision, int) or not revision or not -_HIGHEST <= revision <= _HIGHEST:
            raise InvalidToken(
                f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})"
            )
        if not isinstance(start, str) or not start:
            raise InvalidToken(f"continue key is not valid: encoded start key empty (version {_VERSION})")
        absolute = start if start.startswith("/") else "/" + start
        # A start key may not step out of the list's prefix.
        if absolute.startswith("//") or posixpath.normpath(absolute) != absolute:
            raise InvalidToken(f"continue key is not valid: {start}")
        return cls(absolute[1:], Revision(max(revision, INCONSISTENT)))


def _decode_base64(token: str) -> bytes:
    bad = re.search(r"[^A-Za-z0-9_-]", token)
    if bad or len(token) % 4 == 1:
        at = bad.start() if bad else len(token) - 1
        raise InvalidToken(f"continue key is not valid: illegal base64 data at input byte {at}")
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def _decode_json(raw: bytes) -> dict[str, object]:
    try:
        data = orjson.loads(raw)
    except ValueError:
        text = raw.decode("latin-1")
        first = repr(text[0])[1:-1].replace("\\x", "\\u00") if text else ""
        raise InvalidToken(
            f"continue key is not valid: invalid character '{first}' looking for beginning of value"
        ) from None
    if not isinstance(data, dict):
        raise InvalidToken("continue key is not valid: not an object")
    return data
