"""The key-value protocol that everything stored goes through: etcd's semantics in a dozen methods.

One write is one revision. Revisions are global, only grow and survive restarts. Engines: `memory`, `sqlite`, `etcd`;
`tests/contract` holds them to the same behaviour. An engine belongs to one event loop: every method is called on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kapi.api.objects import Revision

NO_REVISION = Revision(0)


class StorageError(Exception):
    """What can go wrong below. The registry's store translates these into API errors, once."""


class KeyExists(StorageError):
    """Create found the key present."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key exists: {key}")
        self.key = key


class NotFound(StorageError):
    """The key is not there."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key not found: {key}")
        self.key = key


class Conflict(StorageError):
    """The key is at another revision than the one compared with. `current` saves the reader a round trip."""

    def __init__(self, key: str, current: KeyValue) -> None:
        super().__init__(f"key changed: {key} is at revision {current.revision}")
        self.key = key
        self.current = current


class Compacted(StorageError):
    """The revision asked for is older than what is kept."""

    def __init__(self, compacted: Revision) -> None:
        super().__init__(f"required revision has been compacted: everything before {compacted} is gone")
        self.compacted = compacted


class FutureRevision(StorageError):
    """The revision asked for has not happened yet."""

    def __init__(self, current: Revision) -> None:
        super().__init__(f"required revision is a future revision: the store is at {current}")
        self.current = current


class Unavailable(StorageError):
    """The store cannot answer now. A write that got this may or may not have happened."""


class NoSpace(StorageError):
    """Disk full, quota exceeded or read-only: writes fail, reads may go on."""


class TooLarge(StorageError):
    """The value is larger than the store takes."""


class Unstorable(StorageError):
    """The value cannot be brought into the form in which it would be stored."""


class EncryptionFailed(StorageError):
    """The value cannot be encrypted now, and so not written: a KMS plugin does not answer, or its key has expired."""


class Corrupt(StorageError):
    """What is stored under the key cannot be read: it is damaged, or encrypted by a key that is not at hand."""

    what = "data from the storage is not transformable"

    def __init__(self, key: str, why: str, revision: Revision = NO_REVISION) -> None:
        super().__init__(f"{self.what} revision={revision}: {why}")
        self.key = key
        self.root = ""  # what the report leaves out in front of the key

    @property
    def report(self) -> str:
        """As upstream's StorageError says it."""
        key = self.key.removeprefix(self.root)
        return f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {self}"


class Readable(StorageError):
    """What was to be removed because it cannot be read can be."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is readable")
        self.key = key


class CorruptObjects(StorageError):
    """Some values of a range cannot be read; not `complete` when there may be more of them."""

    def __init__(self, errors: Sequence[Corrupt], *, complete: bool = True) -> None:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{errors[0].report}{more}")
        self.errors = errors
        self.complete = complete


class LeaseNotFound(StorageError):
    """A write named a lease that has ended or never was: grant another."""

    def __init__(self, lease: int) -> None:
        super().__init__(f"lease not found: {lease}")
        self.lease = lease


@dataclass(frozen=True, slots=True)
class KeyValue:
    key: str
    value: bytes
    revision: Revision  # of the last write
    created: Revision  # of the create
    version: int = 1  # writes since the create, that included
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A range's answer, all at one revision."""

    items: list[KeyValue]
    revision: Revision  # of the store when it was read (the one asked for, if one was)
    more: bool
    count: int  # of all keys in the range from `start`, not only those within the limit


@dataclass(frozen=True, slots=True)
class Event:
    """One committed write. `value` is None for a delete, `previous` is None for a create."""

    key: str
    revision: Revision
    value: bytes | None
    previous: bytes | None
    created: Revision
    previous_revision: Revision = NO_REVISION


class Sink(Protocol):
    """Who watches. Called on the loop, in revision order, never re-entrantly, never after `failed` or `Watch.close`."""

    wants_previous: bool
    """Whether the previous value of an event is looked at: where values are encrypted, it is decrypted only then."""

    def events(self, events: Sequence[Event]) -> None:
        """Committed events, every one exactly once; one call never splits a revision."""

    def progress(self, revision: Revision) -> None:
        """Everything up to this revision has been delivered."""

    def failed(self, error: StorageError) -> None:
        """The watch has ended: Compacted (list again) or Unavailable (watch again from where it was)."""


class Watch(Protocol):
    def request_progress(self) -> None:
        """Ask for `Sink.progress` at the store's current revision, soon."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """For health checks, metrics and `kapi status`."""

    revision: Revision
    compacted: Revision
    size_bytes: int
    in_use_bytes: int
    version: str  # of the engine: "sqlite 3.45.1", "etcd 3.5.21"


class KV(Protocol):
    in_step: bool
    """Whether an acknowledged write has always reached every sink before its caller goes on (embedded engines)."""

    @property
    def supports_progress(self) -> bool:
        """Whether `Watch.request_progress` is answered, and can be trusted."""

    @property
    def current(self) -> Revision:
        """The newest revision this engine knows to be committed and delivered; exact where `in_step`."""

    async def start(self) -> None:
        """Open; raises StorageError with a message that says what to do."""

    async def close(self) -> None: ...

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        """Raises KeyExists."""

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        """Replace the value if the key is still at `expected`; raises Conflict or NotFound."""

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, KeyValue]:
        """Remove the key if it is still at `expected`; the delete's revision and what was there."""

    async def get(self, key: str, revision: Revision = NO_REVISION) -> tuple[KeyValue | None, Revision]:
        """The key (at that revision, or now) and the store's revision."""

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = NO_REVISION) -> Page:
        """Keys with that prefix and not before `start`, in byte order; at an old revision until compacted."""

    async def count(self, prefix: str) -> int: ...

    async def revision(self) -> Revision:
        """The store's current revision: not older than any write acknowledged before the call."""

    def watch(self, prefix: str, after: Revision, sink: Sink) -> Watch:
        """Deliver everything later than `after`; fails through the sink, with Compacted when that is too old."""

    async def grant(self, ttl: int) -> int:
        """A lease of so many seconds: keys written with it are deleted, with events, when it ends."""

    async def compact(self, revision: Revision) -> None:
        """Forget history before that revision: the newest value of every key stays."""

    async def stats(self) -> Stats: ...


def prefix_end(prefix: str) -> str:
    """The first key after all keys with that prefix. Keys are ASCII, as are all names in them."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "\U0010ffff"
