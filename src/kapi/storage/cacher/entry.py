"""One object as the cache holds it: its bytes, ready to be sent, and what selectors ask for.

The law: an object is encoded once per revision. The store's value has no resourceVersion; it is spliced in here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from kapi.api.objects import Object, Revision
from kapi.schema.empties import as_nothing
from kapi.storage import kv

FieldsOf: TypeAlias = Callable[[Object], Mapping[str, str]]
_METADATA = b'"metadata":{'
_NO_LABELS: Mapping[str, str] = MappingProxyType({})  # one for all that have none


class Undecodable(kv.Corrupt):
    """What is stored under the key is no object: damaged, encrypted, or in another encoding."""

    what = "object not decodable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one resource's objects are stored: the bytes every value begins with, and its selectable fields."""

    kind: str
    api_version: str
    fields_of: FieldsOf
    head: bytes = field(init=False)  # what precedes the body in a complete object: `{"kind":"Pod","apiVersion":"v1",`

    def __post_init__(self) -> None:
        head = b'{"kind":"%b","apiVersion":"%b",' % (self.kind.encode(), self.api_version.encode())
        object.__setattr__(self, "head", head)


class Entry:
    """An object at one revision. `body` is its JSON from `"metadata":{` to the final brace, resourceVersion included.

    A complete object is `head + body`; an item of a typed list is `{` + body.
    """

    __slots__ = ("_fields", "_labels", "_shape", "body", "created", "key", "renderings", "revision")
    outdated = False  # stored in a form that the next write replaces, whatever else it changes

    def __init__(self, shape: Shape, key: str, body: bytes, revision: Revision, created: Revision) -> None:
        self._shape = shape
        self.key = key
        self.body = body
        self.revision = revision
        self.created = created
        self._labels: Mapping[str, str] | None = None
        self._fields: Mapping[str, str] | None = None
        self.renderings: dict[Any, Any] | None = None  # other versions, table cells: made once, dropped with the entry

    @property
    def object(self) -> Object:
        """The object, decoded anew: the caller may change it."""
        decoded: Object = orjson.loads(self._shape.head + self.body)
        return decoded

    @property
    def bytes(self) -> bytes:
        return self._shape.head + self.body

    @property
    def labels(self) -> Mapping[str, str]:
        labels = self._labels
        if labels is None:
            labels = self._labels = self.object["metadata"].get("labels") or _NO_LABELS
        return labels

    @property
    def fields(self) -> Mapping[str, str]:
        fields = self._fields
        if fields is None:
            decoded = self.object
            self._labels = decoded["metadata"].get("labels") or _NO_LABELS
            fields = self._fields = self._shape.fields_of(decoded)
        return fields

    def at(self, revision: Revision) -> Entry:
        """The same object with another resourceVersion, as a DELETED event carries it."""
        old = b'"resourceVersion":"%d"' % self.revision
        new = b'"resourceVersion":"%d"' % revision
        moved = Entry(self._shape, self.key, self.body.replace(old, new, 1), revision, self.created)
        moved._labels, moved._fields = self._labels, self._fields
        return moved


class EntryMaker:
    """Turns stored values of one resource into entries."""

    __slots__ = ("_at", "_prefix", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._prefix = shape.head + _METADATA
        self._at = len(self._prefix)

    def __call__(self, key: str, value: bytes, revision: Revision, created: Revision) -> Entry:
        if not value.startswith(self._prefix):
            value = self._reordered(key, value, revision)
        rest = value[self._at :]
        # What servers keep for themselves (a RangeAllocation) may have no metadata at all.
        body = b'"metadata":{"resourceVersion":"%d"%b%b' % (revision, b"" if rest.startswith(b"}") else b",", rest)
        return Entry(self.shape, key, body, revision, created)

    def _reordered(self, key: str, value: bytes, revision: Revision) -> bytes:
        """A value that another server wrote, as this one would have."""
        if value.startswith(b"k8s:enc:"):
            raise kv.Corrupt(key, "identity transformer tried to read encrypted data")
        try:
            return self.encode(orjson.loads(value))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Undecodable(key, str(error), revision) from None

    def unstored(self, key: str, value: bytes) -> Entry:
        """The entry of a value that a dry run did not store: it has no resourceVersion."""
        return Entry(self.shape, key, value[len(self.shape.head) :], Revision(0), Revision(0))

    def encode(self, decoded: Object) -> bytes:
        """An object as it is stored: kind, apiVersion and metadata first, no resourceVersion."""
        metadata = decoded["metadata"]
        metadata.pop("resourceVersion", None)
        ordered = {"kind": self.shape.kind, "apiVersion": self.shape.api_version, "metadata": metadata}
        for name, value in decoded.items():
            if name not in ordered:
                ordered[name] = value
        encoded = orjson.dumps(ordered, as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)
        # Copied because it is kept: the encoder's own bytes hold several times the memory that they need.
        return bytes(memoryview(encoded))
