"""Custom resources as they are stored: in the definition's storage version, whatever version they are served in.

An entry is read by the schema of the version it was written in, and shown in the version that is served: pruned by its
schema, not defaulted by it. What was written by today's schema in the version served is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import orjson

from kapi.api.objects import Object, Revision
from kapi.schema.structural import Structural
from kapi.schema.structural_settle import apply_defaults, settle
from kapi.storage.cacher.entry import Entry, EntryMaker, Shape, Undecodable

_METADATA = b'"metadata":{'


class Converted(Protocol):
    """What brings stored objects into the version served before they come here."""

    def is_outdated(self, key: str, revision: Revision) -> bool: ...


class CustomEntry(Entry):
    """Its body is made when it is first looked at."""

    __slots__ = ("_maker", "_shown", "_stored")

    def __init__(self, maker: CustomEntryMaker, key: str, stored: bytes, revision: Revision, created: Revision) -> None:
        self._maker = maker
        self._stored = stored
        self._shown: bytes | None = None
        super().__init__(maker.shape, key, b"", revision, created)

    @property
    def body(self) -> bytes:
        shown = self._shown
        if shown is None:
            shown = self._shown = self._maker.body(self.key, self._stored, self.revision)
        return shown

    @body.setter
    def body(self, _: bytes) -> None:
        """The body follows from what is stored."""

    @property
    def outdated(self) -> bool:  # type: ignore[override]
        return self._maker.is_outdated(self.key, self._stored, self.revision)


class CustomEntryMaker(EntryMaker):
    """`schemas` finds the schema of a version by its name; `since` is the last revision of an older schema.

    Versions differ in their name only: where there is more to it, `converted` has done that already.
    """

    __slots__ = ("_converted", "_schemas", "_served", "_since", "_storage", "_storage_version")

    def __init__(
        self,
        shape: Shape,
        storage: Shape,
        schemas: Callable[[str], Structural | None],
        since: Revision | float,
        converted: Converted | None,
    ) -> None:
        super().__init__(shape)
        self._schemas = schemas
        self._served = shape.api_version.rpartition("/")[2]
        self._storage = storage
        self._storage_version = storage.api_version.rpartition("/")[2]
        self._since = since
        self._converted = converted

    def __call__(self, key: str, value: bytes, revision: Revision, created: Revision) -> CustomEntry:
        if not value.startswith(self._storage.head):
            _decode(key, value)
        return CustomEntry(self, key, value, revision, created)

    def is_outdated(self, key: str, value: bytes, revision: Revision) -> bool:
        if self._converted is not None:
            return self._converted.is_outdated(key, revision)
        return not value.startswith(self._storage.head)

    def body(self, key: str, value: bytes, revision: Revision) -> bytes:
        if revision <= self._since or not value.startswith(self._prefix):
            value = self._served_form(key, value)
        rest = value[self._at :]
        return b'"metadata":{"resourceVersion":"%d"%b%b' % (revision, b"" if rest.startswith(b"}") else b",", rest)

    def _served_form(self, key: str, value: bytes) -> bytes:
        """The object in the version served."""
        decoded = _decode(key, value)
        written = str(decoded.get("apiVersion", "")).rpartition("/")[2]
        schema = self._schemas(written)
        if schema is not None:
            settle(schema, decoded, forgiving=True)
            apply_defaults(schema, decoded)
        if written != self._served and (shown := self._schemas(self._served)) is not None:
            settle(shown, decoded, forgiving=True)
        metadata = decoded["metadata"]
        if not metadata.get("generation"):
            metadata["generation"] = 1
        return super().encode(decoded)

    def unstored(self, key: str, value: bytes) -> Entry:
        form = value if value.startswith(self._prefix) else self._served_form(key, value)
        return super().unstored(key, form)

    def encode(self, decoded: Object) -> bytes:
        """As it is stored: in the storage version, by its schema."""
        if self._served == self._storage_version:
            return super().encode(decoded)
        decoded["metadata"].pop("resourceVersion", None)
        stored: Object = orjson.loads(orjson.dumps(decoded))
        schema = self._schemas(self._storage_version)
        if schema is not None:
            settle(schema, stored, forgiving=True)
            apply_defaults(schema, stored)
        ordered = {"kind": self._storage.kind, "apiVersion": self._storage.api_version, "metadata": stored["metadata"]}
        return orjson.dumps({**ordered, **{name: value for name, value in stored.items() if name not in ordered}})


def _decode(key: str, value: bytes) -> Object:
    try:
        decoded: Object = orjson.loads(value)
        if not isinstance(decoded["metadata"], dict):
            raise TypeError("it has no metadata")
    except (ValueError, KeyError, TypeError) as error:
        raise Undecodable(key, str(error)) from None
    return decoded
