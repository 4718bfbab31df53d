"""Keys and entries between the protocol's types and etcd's."""

from __future__ import annotations

from kapi.api.objects import Revision
from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.kv import KeyValue

TO_THE_END = b"\0"


def key_range(prefix: str, start: str = "") -> tuple[bytes, bytes]:
    """etcd's key and range_end for the keys with that prefix and not before `start`."""
    encoded = prefix.encode()
    return max(encoded, start.encode()) or b"\0", _prefix_end(encoded)


def _prefix_end(prefix: bytes) -> bytes:
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else TO_THE_END


def entry(kv: pb.KeyValue) -> KeyValue:
    return KeyValue(
        kv.key.decode(),
        kv.value,
        Revision(kv.mod_revision),
        Revision(kv.create_revision),
        kv.version,
        kv.lease,
    )
