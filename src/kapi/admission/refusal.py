"""How a plugin refuses: with the name that the client knows the object by."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.errors import APIError, Forbidden
from kapi.registry.attributes import Attributes


class Failed(APIError):
    """As upstream where a plugin fails with an error of no kind: a 500 without a reason."""


def name_of(attributes: Attributes) -> str:
    """The object's name; before it has one, the beginning of the name it will be given."""
    if attributes.name:
        return attributes.name
    metadata = (attributes.object or {}).get("metadata") or {}
    return metadata.get("name") or metadata.get("generateName") or "Unknown"


def forbidden(attributes: Attributes, why: str) -> Forbidden:
    return Forbidden(attributes.resource.group_resource, name_of(attributes), why)


def all_of(problems: Sequence[str]) -> str:
    """As upstream's aggregate of errors: each said once, in brackets when there are several."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
