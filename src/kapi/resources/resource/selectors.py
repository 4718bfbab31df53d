"""Selectors of devices: CEL expressions."""

from __future__ import annotations

from kapi.api.fields import required, too_long
from kapi.api.objects import Object
from kapi.resources.resource.findings import Findings

_MOST = 32
_MOST_BYTES = 10 * 1024


def check_selectors(found: Findings, selectors: list[Object] | None, path: str) -> None:
    def check(selector: Object, at: str) -> None:
        cel = selector.get("cel")
        if cel is None:
            found.add(required(f"{at}.cel"))
        elif len(cel.get("expression", "").encode()) > _MOST_BYTES:
            found.add(too_long(f"{at}.cel.expression", _MOST_BYTES))

    found.each(selectors, _MOST, path, check)
