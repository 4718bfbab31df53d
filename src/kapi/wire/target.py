"""Request targets: the forms RFC 9112 allows, split into path and query, both as sent."""

from __future__ import annotations

import re

_ALLOWED = re.compile(rb"[\x21-\x7e\x80-\xff]+").fullmatch
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_ABSOLUTE = re.compile(rb"https?://([^/?#]+)", re.IGNORECASE).match


class BadTarget(ValueError):
    """The target is none that a request may have."""


def split_target(method: str, target: bytes) -> tuple[str, str, bytes | None]:
    """(path, query, authority); the authority only when the target names one."""
    if not _ALLOWED(target):
        raise BadTarget("invalid characters in the request target")
    authority = None
    if target[0] != 47:
        target, authority = _other_form(method, target)
    path, _, query = target.decode("utf-8", "replace").partition("?")
    if "%" in path and _BAD_ESCAPE(path):
        raise BadTarget("invalid URL escape")
    return path, query, authority


def _other_form(method: str, target: bytes) -> tuple[bytes, bytes | None]:
    if target == b"*" and method == "OPTIONS":
        return target, None
    absolute = _ABSOLUTE(target)
    if absolute:
        rest = target[absolute.end() :]
        return rest if rest[:1] == b"/" else b"/" + rest, absolute[1]
    if method == "CONNECT" and b"/" not in target:
        return b"", target
    raise BadTarget("invalid request target")
