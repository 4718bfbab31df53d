"""What is allowed in a pod spec but probably not meant: told to the client as warnings."""

from __future__ import annotations

from kapi.api.objects import Object


def template_warnings(template: Object, path: str, old: Object | None = None) -> list[str]:
    """`path` is the template's field; `old` the template being replaced, if any."""
    return []
