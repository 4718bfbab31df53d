"""Index sets of indexed jobs: `1,3-5,7`, in increasing order and below the number of completions."""

from __future__ import annotations

import re
from typing import TypeAlias

from kapi.api.fields import go_quote

Interval: TypeAlias = tuple[int, int]


class BadIndexes(ValueError):
    """The text is no set of indexes; the message says why."""


def count_indexes(text: str, completions: int) -> int:
    """How many there are."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if last is not None and last >= first:
            raise BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both sets; what is badly written in either is passed over."""
    left, right = _intervals(completed, completions), _intervals(failed, completions)
    i = j = 0
    while i < len(left) and j < len(right):
        (first, last), (other, end) = left[i], right[j]
        if first <= end and other <= last:
            return max(first, other)
        if first <= other:
            i += 1
        else:
            j += 1
    return None


def _intervals(text: str, completions: int) -> list[Interval]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_interval(part, completions))
        except BadIndexes:
            continue
    return found


def _interval(text: str, completions: int) -> Interval:
    ends = text.split("-")
    if len(ends) > 2:
        raise BadIndexes(
            f"the fragment {go_quote(text)} violates the requirement that an index interval can have at most two parts "
            "separated by '-'"
        )
    first = _index(ends[0], completions)
    if len(ends) == 1:
        return first, first
    last = _index(ends[1], completions)
    if first >= last:
        raise BadIndexes(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        raise BadIndexes(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise BadIndexes(f"too large index: {go_quote(text)}")
    return int(text)
