"""Image references: which tag they name, and so when they are pulled."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_is_identifier = re.compile(r"[a-f0-9]{64}\Z").match  # of an image, which is no name of one
_LONGEST = 255  # characters of a name without its tag
_reference = re.compile(
    rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?\Z",
    re.ASCII,
).match


@lru_cache(maxsize=1024)
def pull_policy(image: str) -> str:
    """Always for what may move (the tag `latest`, also when it is only implied), else IfNotPresent."""
    found = _reference(image)
    if (
        found is None
        or _is_identifier(image)
        or len(image.partition("@")[0].removesuffix(f":{found['tag']}")) > _LONGEST
    ):
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
