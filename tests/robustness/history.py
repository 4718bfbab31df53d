"""What clients wrote, read and watched, and whether a correct server could have answered so. Pure: no I/O, no clock.

The law: there is one sequence of writes, numbered by resourceVersion: the store's own log. Every acknowledged write is
in it, every watcher saw exactly its part of it, every read shows it at one point, and no point lies before what was
already known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

State = dict[str, tuple[str, int]]  # name → (value, resourceVersion)


@dataclass(frozen=True)
class Write:
    """One request. `value` is None for a delete. `based_on` is the version it was conditional on; 0: on absence.

    `acknowledged` is False when the answer never came: it may have happened or not. A delete's answer has no version.
    """

    name: str
    value: str | None
    based_on: int
    began: float
    ended: float
    revision: int = 0
    acknowledged: bool = True


@dataclass(frozen=True)
class Read:
    """A consistent list of everything."""

    began: float
    ended: float
    revision: int
    state: State


@dataclass(frozen=True)
class Listed:
    """A watcher began, or began again after 410: from this state."""

    revision: int
    state: State


@dataclass(frozen=True)
class Seen:
    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    name: str
    value: str  # of a DELETED event: the value it had
    revision: int


@dataclass(frozen=True)
class Bookmark:
    revision: int


Step = Listed | Seen | Bookmark
Selects = Callable[[str], bool]


def everything(value: str) -> bool:
    return True


@dataclass
class Watched:
    """All that one watcher was told, over all its connections."""

    name: str
    steps: list[Step] = field(default_factory=list)
    selects: Selects = everything


@dataclass
class History:
    """`final` was read when everything had come to rest; every watcher was waited for until it had come that far.

    `log` is what the store has, read past the server: name and value (None: deleted) by revision.
    """

    writes: list[Write]
    reads: list[Read]
    watched: list[Watched]
    final: Read
    log: dict[int, tuple[str, str | None]]


@dataclass
class Truth:
    """The log, by object."""

    changes: dict[int, tuple[str, str | None]]

    def __post_init__(self) -> None:
        self.revisions = sorted(self.changes)
        self.of: dict[str, list[int]] = {}
        for revision in self.revisions:
            self.of.setdefault(self.changes[revision][0], []).append(revision)

    def at(self, name: str, revision: int) -> tuple[str, int] | None:
        """The object as it was then."""
        mine = self.of.get(name, [])
        i = bisect_right(mine, revision)
        if not i:
            return None
        value = self.changes[mine[i - 1]][1]
        return None if value is None else (value, mine[i - 1])

    def state(self, revision: int) -> State:
        found = {name: self.at(name, revision) for name in self.of}
        return {name: entry for name, entry in found.items() if entry is not None}

    def next_of(self, name: str, after: int) -> int | None:
        mine = self.of.get(name, [])
        i = bisect_right(mine, after)
        return mine[i] if i < len(mine) else None

    def between(self, after: int, before: int) -> Iterable[int]:
        return self.revisions[bisect_right(self.revisions, after) : bisect_left(self.revisions, before)]


def check(history: History) -> list[str]:
    """Every violation, in words; none is a history that a correct server could have given."""
    truth = Truth(history.log)
    found = _check_writes(history, truth)
    for watched in history.watched:
        found += _check_watched(watched, truth, history.final.revision)
    return found + _check_reads(history, truth) + _check_order(history)


def _check_writes(history: History, truth: Truth) -> list[str]:
    found = []
    for write in history.writes:
        if write.acknowledged:
            what = f"the acknowledged {'delete' if write.value is None else 'write'} of {write.name}"
            fault = _delete_fault(write, truth) if write.value is None else _write_fault(write, truth)
            if fault:
                found.append(f"{what} {fault}")
    return found


def _write_fault(write: Write, truth: Truth) -> str:
    logged = truth.changes.get(write.revision)
    if logged is None:
        return f"at {write.revision} is lost"
    if logged != (write.name, write.value):
        return f"({write.value}) at {write.revision} is {logged} in the log"
    if not write.based_on:
        return f"at {write.revision} created what was there" if truth.at(write.name, write.revision - 1) else ""
    between = truth.next_of(write.name, write.based_on)
    if between != write.revision:
        return f"at {write.revision} was based on {write.based_on}, but {between} lies between"
    return ""


def _delete_fault(write: Write, truth: Truth) -> str:
    follower = truth.next_of(write.name, write.based_on)
    if follower is None:
        return f"based on {write.based_on} is lost"
    if truth.changes[follower][1] is not None:
        return f"based on {write.based_on} is lost: {follower} came instead"
    return ""


def _check_watched(watched: Watched, truth: Truth, end: int) -> list[str]:
    """Every change it should have seen, once, in order, as the right kind of event."""
    found = []
    position = -1
    for step in watched.steps:
        if isinstance(step, Listed):
            if step.revision < position:
                found.append(f"{watched.name} listed at {step.revision} after {position}")
            elif step.state != _selected(truth.state(step.revision), watched.selects):
                found.append(f"{watched.name} listed another state than there was at {step.revision}")
        else:
            if step.revision <= position and not (isinstance(step, Bookmark) and step.revision == position):
                found.append(f"{watched.name} saw {step.revision} after {position}: repeated or out of order")
                continue
            upto = step.revision if isinstance(step, Seen) else step.revision + 1
            found += _missed(watched, truth, position, upto)
            if isinstance(step, Seen):
                found += _check_event(watched, step, truth)
        position = max(position, step.revision)
    return found + _missed(watched, truth, position, end + 1)


def _missed(watched: Watched, truth: Truth, after: int, before: int) -> list[str]:
    return [f"{watched.name} missed {r}" for r in truth.between(after, before) if _kind(watched, truth, r)]


def _check_event(watched: Watched, seen: Seen, truth: Truth) -> list[str]:
    if seen.revision not in truth.changes:
        return [f"{watched.name} saw {seen.revision}, which never was"]
    name, value = truth.changes[seen.revision]
    kind = _kind(watched, truth, seen.revision)
    if kind != seen.kind or name != seen.name:
        return [f"{watched.name} saw {seen.revision} as {seen.kind} {seen.name}, not as {kind} {name}"]
    before = truth.at(name, seen.revision - 1)
    if seen.value != (before[0] if kind == "DELETED" and before else value):
        return [f"{watched.name} saw {seen.revision} with another value: {seen.value}"]
    return []


def _kind(watched: Watched, truth: Truth, revision: int) -> str:
    """The event that a change is to this watcher; empty when it is none."""
    name, value = truth.changes[revision]
    before = truth.at(name, revision - 1)
    was = before is not None and watched.selects(before[0])
    is_ = value is not None and watched.selects(value)
    return {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, is_), "")


def _selected(state: State, selects: Selects) -> State:
    return {name: entry for name, entry in state.items() if selects(entry[0])}


def _check_reads(history: History, truth: Truth) -> list[str]:
    found = []
    for read in [*history.reads, history.final]:
        expected = truth.state(read.revision)
        if read.state != expected:
            different = {n for n in read.state.keys() | expected.keys() if read.state.get(n) != expected.get(n)}
            found.append(f"the read at {read.revision} shows another state: {sorted(different)}")
    return found


def _check_order(history: History) -> list[str]:
    """What was known before a request began is not newer than what the request found or made."""
    known = [(w.ended, w.revision) for w in history.writes if w.acknowledged and w.revision]
    known += [(r.ended, r.revision) for r in history.reads]
    known.sort()
    newest, ends, best = [], [], 0
    for ended, revision in known:
        best = max(best, revision)
        ends.append(ended)
        newest.append(best)

    def before(began: float) -> int:
        i = bisect_left(ends, began)
        return newest[i - 1] if i else 0

    found = []
    for read in [*history.reads, history.final]:
        if read.revision < before(read.began):
            found.append(f"a read at {read.revision} went back in time: {before(read.began)} was known")
    for write in history.writes:
        if write.acknowledged and write.revision and write.revision <= before(write.began):
            found.append(f"the write of {write.name} got {write.revision}: {before(write.began)} was known")
    return found
