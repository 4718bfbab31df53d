"""Facts about protobuf messages: which message a kind has, and the fields of each, read when they are asked for."""

from __future__ import annotations

from functools import cache, lru_cache
from os.path import dirname, join
from typing import Any, NamedTuple

import orjson

_META = "meta.v1"


class MessageField(NamedTuple):
    """One field. `form` says when it is written: see tools/build_protobuf.py."""

    number: int
    name: str  # in JSON; empty for an embedded message
    form: str  # "", "?", "[", "{", "^" or "@"; "{@" for a map of lists
    type: str


@lru_cache(maxsize=512)
def message_of(api_version: str, kind: str) -> str | None:
    """The name of a kind's message, those of meta/v1 in every group-version included; None when there is none."""
    data = _data()
    package = data["packages"].get(api_version) if api_version else _META
    if package is None:
        return None
    for name in (f"{package}.{kind}", f"{_META}.{kind}"):
        if name in data["messages"]:
            return name
    return None


def message_named(definition: str) -> str | None:
    """The message of a definition of OpenAPI's, by its full name."""
    name = ".".join(definition.rsplit(".", 3)[1:])
    return name if name in _data()["messages"] else None


@cache
def fields_of(message: str) -> tuple[MessageField, ...]:
    """A message's fields, in the order of their numbers."""
    return tuple(_field(text) for text in _data()["messages"][message].split(" ") if text)


def _field(text: str) -> MessageField:
    number, name, type_ = text.split(":")
    bare = type_.lstrip("?[{^@")
    return MessageField(int(number), name, type_[: len(type_) - len(bare)], bare)


@cache
def _data() -> Any:
    with open(join(dirname(__file__), "data", "protobuf.json"), "rb") as file:
        return orjson.loads(file.read())
