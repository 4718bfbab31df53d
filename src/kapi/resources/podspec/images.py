"""Image references: which tag they name, and so when they are pulled."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_reference = re.compile(
    r"(?![a-f0-9]{64}\Z)"
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?\Z",
    re.ASCII,
).match
_is_domain = re.compile(r"localhost\Z|.*[.:A-Z]", re.ASCII).match
_HUB = ("docker.io", "index.docker.io")
_OFFICIAL = "library/"
_MAX_PATH = 255


@lru_cache(maxsize=1024)
def pull_policy(image: str) -> str:
    """Always for what may move (the tag `latest`, also when it is only implied), else IfNotPresent."""
    found = _reference(image)
    if found is None or len(_path(found["name"])) > _MAX_PATH:
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _path(name: str) -> str:
    """Where the image is in its registry: an official image of the default one may leave that out."""
    domain, slash, rest = name.partition("/")
    if not slash or not _is_domain(domain):
        domain, rest = _HUB[0], name
    return _OFFICIAL + rest if domain in _HUB and "/" not in rest else rest
