"""Kubernetes' protobuf: objects in their envelope, lists, watch frames, request bodies.

An object is the magic bytes and a `runtime.Unknown`: its apiVersion and kind, then its message, which has neither. The
messages are facts (schema.messages); reading and writing go straight from and to plain dicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapi.api.gvk import GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.codec.protobuf_read import read_message
from kapi.codec.protobuf_special import sized
from kapi.codec.protobuf_wire import Malformed, varint
from kapi.codec.protobuf_write import Write, writer
from kapi.schema.messages import message_named, message_of

MAGIC = b"k8s\x00"
# Its encoding and its type are never given, yet always written.
_TAIL = b"\x1a\x00\x22\x00"
_NO_MESSAGE = (
    "object {} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
)
_LIST_METADATA = "meta.v1.ListMeta"


class NoMessage(LookupError):
    """The kind has no protobuf form."""


# Writing


def supports(api_version: str, kind: str) -> bool:
    return message_of(api_version, kind) is not None


def message_writer(api_version: str, kind: str) -> Write:
    """Writes objects of a kind as their message, without the envelope."""
    message = message_of(api_version, kind)
    if message is None:
        raise NoMessage(_NO_MESSAGE.format(kind))
    return writer(message)


def envelope_head(api_version: str, kind: str) -> bytes:
    """What precedes the message's length."""
    meta = b"\n%b\x12%b" % (sized(api_version.encode()), sized(kind.encode()))
    return b"%b\n%b\x12" % (MAGIC, sized(meta))


def in_envelope(head: bytes, message: bytes) -> bytes:
    return b"%b%b%b%b" % (head, varint(len(message)), message, _TAIL)


def encode_object(value: Object) -> bytes:
    """An object that says what it is, in its envelope."""
    api_version, kind = value.get("apiVersion", ""), value.get("kind", "")
    return in_envelope(envelope_head(api_version, kind), message_writer(api_version, kind)(value))


def list_parts(head: bytes, metadata: Object, items: Sequence[bytes], size: int) -> Iterator[bytes]:
    """A list of encoded messages, in parts of so many: its metadata is field 1, its items are field 2."""
    meta = b"\n" + sized(writer(_LIST_METADATA)(metadata))
    tags = [b"\x12" + varint(len(item)) for item in items]
    yield head + varint(len(meta) + sum(map(len, tags)) + sum(map(len, items))) + meta
    for i in range(0, len(items), size):
        yield b"".join([t + item for t, item in zip(tags[i : i + size], items[i : i + size], strict=True)])
    yield _TAIL


def watch_frame(event: str, encoded: bytes) -> bytes:
    """A watch event with its object, in its envelope: bare, after its length in four bytes."""
    message = b"\n%b\x12%b" % (sized(event.encode()), sized(b"\n" + sized(encoded)))
    return len(message).to_bytes(4, "big") + message


# Reading


class Body:
    """A request's body whose envelope could be read. Malformed when it could not."""

    __slots__ = ("api_version", "kind", "raw")

    def __init__(self, data: bytes) -> None:
        if not data:
            raise Malformed("empty data")
        if not data.startswith(MAGIC):
            expected = " ".join(str(byte) for byte in MAGIC)
            raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
        if len(data) == len(MAGIC):
            raise Malformed("empty body")
        envelope = read_message("Unknown", data[len(MAGIC) :])
        meta = envelope.get("typeMeta", {})
        self.api_version: str = meta.get("apiVersion", "")
        self.kind: str = meta.get("kind", "")
        self.raw: bytes = envelope.get("raw", b"")

    @property
    def gvk(self) -> GroupVersionKind:
        """What the envelope says; ValueError when its apiVersion is none."""
        return GroupVersionKind(*GroupVersion.parse(self.api_version), self.kind)

    def decode(self, definition: str) -> Object:
        """The object as JSON has it, without kind and apiVersion, to be checked by the type of that definition."""
        message = message_named(definition)
        if message is None:
            raise NoMessage(_NO_MESSAGE.format("*unstructured.Unstructured"))
        return read_message(message, self.raw)
