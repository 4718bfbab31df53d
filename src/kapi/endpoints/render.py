"""Entries as JSON: whole objects, list items, table rows, metadata only.

What can be kept with an entry is made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.endpoints.negotiate import JSON, PROTOBUF, Form
from kapi.endpoints.params import first
from kapi.registry.resource import Resource
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Listing

if TYPE_CHECKING:
    from kapi.endpoints.binary import Binary

# So many entries are joined before others get their turn.
SLICE = 2_000
_LIST_SUFFIX = b"]}\n"


class Renderer:
    """Writes one resource's entries in any form."""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        self._resource = resource
        self._clock = clock
        list_kind = resource.names.list_kind or resource.kind + "List"
        self._list_head = b'{"kind":"%b","apiVersion":"%b",' % (
            list_kind.encode(),
            str(resource.group_version).encode(),
        )

    @cached_property
    def binary(self) -> Binary:
        from kapi.endpoints.binary import Binary  # loaded with the first protobuf answer

        return Binary(self._resource)

    # One object

    def object(self, call: Call, entry: Entry, form: Form) -> bytes:
        if form.media_type == PROTOBUF and form.transform != "PartialObjectMetadataList":
            if call.audit is not None and call.audit.takes_responses:
                call.audit.response_object(self.object(call, entry, form._replace(media_type=JSON)))
            return self.binary.object(entry, form)
        if not form.transform:
            return self._bytes(entry)
        if form.transform == "Table":
            return self._table(call, [entry], {"resourceVersion": str(entry.revision)}, form)
        if form.transform == "PartialObjectMetadata":
            return self._partial(entry, form)
        if self._resource.untyped is not None:
            raise errors.APIError("content is not a list")
        raise errors.NotAcceptable(
            f"you requested {form.transform}, but the requested object is not a list ({self._resource.go_type})"
        )

    # Lists

    def listing(self, call: Call, listing: Listing, form: Form) -> Iterator[bytes]:
        """The list, in parts."""
        metadata = _list_metadata(listing)
        if form.transform == "Table":
            yield self._table(call, listing.entries, metadata, form)
        elif form.media_type == PROTOBUF and form.transform != "PartialObjectMetadata":
            if call.audit is not None and call.audit.takes_responses:
                call.audit.response_object(b"".join(self.listing(call, listing, form._replace(media_type=JSON))))
            yield from self.binary.listing(listing.entries, metadata, form, SLICE)
        elif form.transform == "PartialObjectMetadataList":
            yield self._partial_list(listing, metadata, form)
        elif form.transform:
            raise errors.NotAcceptable(
                f"you requested {form.transform}, but the requested object is a list ({self._resource.go_type}List)"
            )
        else:
            yield from self._items(listing.entries, metadata)

    def _items(self, entries: Sequence[Entry], metadata: Object) -> Iterator[bytes]:
        if self._resource.untyped is not None:
            # As upstream: a list that has no Go type tells of its end.
            metadata = {"continue": "", **metadata}
        head = b'%b"metadata":%b,"items":[' % (self._list_head, orjson.dumps(metadata))
        # A typed list's items do not repeat their kind; a custom resource's do.
        convert = self._resource.conversion
        start = b"{" if self._resource.typed_items and convert is None else None
        for i in range(0, len(entries), SLICE):
            chunk = entries[i : i + SLICE]
            if start is not None:
                joined = b"{" + b",{".join([e.body for e in chunk])
            else:
                joined = b",".join([self._item(e) for e in chunk])
            yield b"%b%b%b" % (head if i == 0 else b",", joined, b"" if i + SLICE < len(entries) else _LIST_SUFFIX)
        if not entries:
            yield head + _LIST_SUFFIX

    def _bytes(self, entry: Entry) -> bytes:
        """The object in the version served here."""
        conversion = self._resource.conversion
        if conversion is None:
            return entry.bytes
        kept = _kept(entry)
        converted: bytes | None = kept.get(self._resource.gvk)
        if converted is None:
            encoded = orjson.dumps(conversion.from_stored(entry.object))
            converted = kept[self._resource.gvk] = bytes(memoryview(encoded))  # in no more memory than it needs
        return converted

    def _item(self, entry: Entry) -> bytes:
        if not self._resource.typed_items:
            return entry.bytes
        decoded = orjson.loads(self._bytes(entry))
        return orjson.dumps({k: v for k, v in decoded.items() if k not in ("kind", "apiVersion")})

    # Tables

    def _table(self, call: Call, entries: Sequence[Entry], metadata: Object, form: Form) -> bytes:
        include = include_object(call)
        table = {
            "kind": "Table",
            "apiVersion": form.api_version,
            "metadata": metadata,
            "columnDefinitions": self.column_definitions,
        }
        order = self._resource.row_order
        if order is not None:
            entries = sorted(entries, key=lambda entry: order(self._values(entry)))
        rows = b",".join([self.row(e, include, form) for e in entries])
        return orjson.dumps(table)[:-1] + b',"rows":[' + rows + b"]}\n"

    # Watch events

    def event(self, call: Call, entry: Entry, form: Form, *, columns: bool) -> bytes | None:
        """The object of an event; a table's columns are sent with the first one only."""
        if form.media_type == PROTOBUF:
            return self.binary.object(entry, form) if form.transform != "PartialObjectMetadataList" else None
        if not form.transform:
            return self._bytes(entry)
        if form.transform == "PartialObjectMetadata":
            return self._partial(entry, form)
        if form.transform != "Table":
            return None
        table = {
            "kind": "Table",
            "apiVersion": form.api_version,
            "metadata": {"resourceVersion": str(entry.revision)},
            "columnDefinitions": self.column_definitions if columns else None,
        }
        return orjson.dumps(table)[:-1] + b',"rows":[' + self.row(entry, include_object(call), form) + b"]}"

    @property
    def column_definitions(self) -> list[Object]:
        return [c.definition for c in self._resource.columns if not c.hidden]

    def row(self, entry: Entry, include: str, form: Form) -> bytes:
        values = self._values(entry)
        now = self._clock.now()
        cells = [v if c.show is None else c.show(v, now) for c, v in zip(self._resource.columns, values, strict=True)]
        conditions = self._conditions(entry) if self._resource.row_conditions is not None else b""
        if include == "None":
            return b'{"cells":%b%b,"object":null}' % (orjson.dumps(cells), conditions)
        shown = self._bytes(entry) if include == "Object" else self._partial(entry, form)
        return b'{"cells":%b%b,"object":%b}' % (orjson.dumps(cells), conditions, shown)

    def _conditions(self, entry: Entry) -> bytes:
        kept = _kept(entry)
        text: bytes | None = kept.get("conditions")
        if text is None:
            assert self._resource.row_conditions is not None
            found = self._resource.row_conditions(entry.object)
            text = kept["conditions"] = b',"conditions":%b' % orjson.dumps(found) if found else b""
        return text

    def _values(self, entry: Entry) -> list[Any]:
        kept = _kept(entry)
        values: list[Any] | None = kept.get("cells")
        if values is None:
            decoded = entry.object
            values = kept["cells"] = [c.value(decoded) for c in self._resource.columns]
        return values

    # Metadata only

    def _partial(self, entry: Entry, form: Form) -> bytes:
        """The object's metadata, as an object of its own."""
        kept = _kept(entry)
        partial: bytes | None = kept.get(form.version)
        if partial is None:
            metadata = orjson.dumps(_shown_metadata(entry.object["metadata"], self._resource.hidden_annotations))
            head = b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":' % form.api_version.encode()
            partial = kept[form.version] = head + metadata + b"}"
        return partial

    def _partial_list(self, listing: Listing, metadata: Object, form: Form) -> bytes:
        head = {"kind": form.transform, "apiVersion": form.api_version, "metadata": metadata}
        items = b",".join([self._partial(e, form) for e in listing.entries])
        # As upstream: an empty list of metadata is null.
        return orjson.dumps(head)[:-1] + b',"items":' + (b"[%b]" % items if items else b"null") + b"}\n"


def _shown_metadata(metadata: Object, hidden: tuple[str, ...]) -> Object:
    annotations = metadata.get("annotations") or {}
    if not any(key in annotations for key in hidden):
        return metadata
    rest = {key: value for key, value in annotations.items() if key not in hidden}
    shown = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**shown, "annotations": rest} if rest else shown


def include_object(call: Call) -> str:
    include = first(call, "includeObject") or "Metadata"
    if include not in ("None", "Metadata", "Object"):
        raise errors.BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def _kept(entry: Entry) -> dict[Any, Any]:
    if entry.renderings is None:
        entry.renderings = {}
    return entry.renderings


def _list_metadata(listing: Listing) -> Object:
    metadata: Object = {"resourceVersion": str(listing.revision)}
    if listing.continuation is not None:
        metadata["continue"] = listing.continuation.encode()
        if listing.remaining is not None:
            metadata["remainingItemCount"] = listing.remaining
    return metadata
