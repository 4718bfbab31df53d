"""Entries as protobuf. An entry's message is made once; envelopes and lists are put around it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import cached_property

from kapi.api.objects import Object
from kapi.codec import protobuf
from kapi.endpoints.negotiate import PROTOBUF, Form
from kapi.registry.resource import Resource
from kapi.storage.cacher.entry import Entry

# So many messages are made before others get their turn.
_TURN = 40
_PARTIAL = "PartialObjectMetadata"


class Binary:
    """Writes one resource's entries."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._api_version = str(resource.group_version)

    @cached_property
    def _head(self) -> bytes:
        return protobuf.envelope_head(self._api_version, self._resource.kind)

    @cached_property
    def _list_head(self) -> bytes:
        resource = self._resource
        return protobuf.envelope_head(self._api_version, resource.names.list_kind or resource.kind + "List")

    def object(self, entry: Entry, form: Form) -> bytes:
        head = protobuf.envelope_head(form.api_version, _PARTIAL) if form.transform else self._head
        return protobuf.in_envelope(head, self._message(entry, form))

    async def prepare(self, entries: Sequence[Entry], form: Form) -> None:
        """Make all messages of a list, which must be there before its first byte can be written."""
        for i, entry in enumerate(entries, 1):
            self._message(entry, form)
            if i % _TURN == 0:
                await asyncio.sleep(0)

    def listing(self, entries: Sequence[Entry], metadata: Object, form: Form, size: int) -> Iterator[bytes]:
        """The list, in parts of so many entries."""
        if form.transform and form.version != "v1":
            # An old message, whose fields have other numbers.
            items = [{"metadata": entry.object["metadata"]} for entry in entries]
            told = {"kind": form.transform, "apiVersion": form.api_version, "metadata": metadata, "items": items}
            yield protobuf.encode_object(told)
            return
        head = protobuf.envelope_head(form.api_version, form.transform) if form.transform else self._list_head
        yield from protobuf.list_parts(head, metadata, [self._message(e, form) for e in entries], size)

    def _message(self, entry: Entry, form: Form) -> bytes:
        kept = entry.renderings
        if kept is None:
            kept = entry.renderings = {}
        key = (PROTOBUF, form.transform[: len(_PARTIAL)] or self._resource.gvk)
        message: bytes | None = kept.get(key)
        if message is None:
            message = kept[key] = self._write(entry, partial=bool(form.transform))
        return message

    def _write(self, entry: Entry, *, partial: bool) -> bytes:
        value = entry.object
        if partial:
            return protobuf.message_writer("meta.k8s.io/v1", _PARTIAL)(value)
        if self._resource.conversion is not None:
            value = self._resource.conversion.from_stored(value)
        return protobuf.message_writer(self._api_version, self._resource.kind)(value)
