"""Configuration files of the server: decoded strictly, as upstream does, and read again when they change.

A file says its version and kind. A field that the kind has not, or that is there twice, is an error, and so is a value
of another type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from kapi.api.clock import Clock
from kapi.api.duration import parse_duration
from kapi.api.fields import go_quote
from kapi.api.objects import Object

# Looking at the file on every request would cost a system call; a second is soon enough.
CHECK_EVERY = 1.0

TEXT, FLAG, NUMBER, DURATION = "string", "bool", "int32", "duration"


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape


@dataclass(frozen=True, slots=True)
class Struct:
    """`name` is that of Go's type, which its errors tell."""

    name: str
    fields: Mapping[str, Shape]


Shape: TypeAlias = str | ListOf | Struct


class ConfigurationError(ValueError):
    """The file cannot be used; the message says why."""


def decode(data: bytes, shape: Struct, versions: Collection[str]) -> Object:
    """The object of that kind (its shape's name) in one of these versions."""
    from kapi.codec.yaml import YAMLError, load  # only where there is a configuration

    try:
        document, twice = load(data)
    except YAMLError as error:
        raise ConfigurationError(f"error converting YAML to JSON: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"couldn't get version/kind; json parse error: {_mismatch(document, 'struct')}")
    version, kind = document.pop("apiVersion", None), document.pop("kind", None)
    for field, value in (("Kind", kind), ("apiVersion", version)):
        if not value:
            raise ConfigurationError(f"Object '{field}' is missing in '{data.decode('utf-8', 'replace').strip()}'")
    if kind != shape.name or version not in versions:
        raise ConfigurationError(f'no kind "{kind}" is registered for version "{version}"')
    for problem in _mismatches(document, shape, shape.name, ""):
        raise ConfigurationError(problem)
    unknown = [f"unknown field {go_quote(path)}" for path in _unknown(document, shape, "")]
    if twice or unknown:
        raise ConfigurationError("strict decoding error: " + ", ".join([*([twice] if twice else []), *unknown]))
    return document


def _mismatches(value: Any, shape: Shape, struct: str, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(shape, Struct):
        if not isinstance(value, dict):
            yield _mismatch(value, shape.name, struct, path)
            return
        for name, held in value.items():
            if name in shape.fields:
                yield from _mismatches(held, shape.fields[name], shape.name, f"{path}.{name}")
    elif isinstance(shape, ListOf):
        if not isinstance(value, list):
            yield _mismatch(value, "[]", struct, path)
            return
        for item in value:
            yield from _mismatches(item, shape.item, struct, path)
    elif shape == DURATION and isinstance(value, str):
        try:
            parse_duration(value)
        except ValueError as error:
            yield str(error)
    elif not _is(value, shape):
        yield _mismatch(value, "string" if shape == DURATION else shape, struct, path)


def _is(value: Any, shape: str) -> bool:
    if shape == NUMBER:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, bool if shape == FLAG else str)


def _mismatch(value: Any, wanted: str, struct: str = "", path: str = "") -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    given = kinds.get(type(value), "null")
    where = f"Go struct field {struct}{path}" if struct else "Go value"
    return f"json: cannot unmarshal {given} into {where} of type {wanted}"


def _unknown(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, Struct) and value is not None:
        for name, held in value.items():
            where = f"{path}.{name}" if path else name
            if name in shape.fields:
                yield from _unknown(held, shape.fields[name], where)
            else:
                yield where
    elif isinstance(shape, ListOf):
        for index, item in enumerate(value or ()):
            yield from _unknown(item, shape.item, f"{path}[{index}]")


class WatchedFile:
    """A file whose changes are noticed when somebody asks, at most once a second."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.data = path.read_bytes()
        self._stamp = self._look()
        self._monotonic = clock.monotonic
        self._checked = self._monotonic()

    def changed(self) -> bool:
        """Whether `data` is new. OSError when the file cannot be read; it is asked for again a second later."""
        now = self._monotonic()
        if now - self._checked < CHECK_EVERY:
            return False
        self._checked = now
        stamp = self._look()
        if stamp == self._stamp:
            return False
        data, self._stamp = self.path.read_bytes(), stamp
        if data == self.data:
            return False
        self.data = data
        return True

    def _look(self) -> tuple[int, int, int]:
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
