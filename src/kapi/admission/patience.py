"""How long expressions may keep the event loop: a little while there, and then in a thread for as long as it takes.

What an expression costs depends on the object that it looks at, so it is known only by trying.
"""

from __future__ import annotations

_UNITS = 10_000  # of CEL's cost: some milliseconds


class TakesLong(Exception):
    """An evaluation has used up the patience of the event loop: it is to be run anew, elsewhere."""


class Patience:
    """What the evaluations of one turn may still cost together; without an end when `left` is None."""

    __slots__ = ("left",)

    def __init__(self, left: int | None = _UNITS) -> None:
        self.left = left


ENDLESS = Patience(None)
