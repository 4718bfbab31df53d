"""A flow: the requests that share a fate, because one schema and one distinguisher tell them from all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi.flowcontrol.metrics import Tally
from kapi.wire.messages import RawHeaders

if TYPE_CHECKING:
    from kapi.flowcontrol.level import Level


class Flow:
    """What classification finds, ready to be used: the level, the queues to choose from, the answer's headers."""

    __slots__ = ("distinguisher", "exempt", "hand", "headers", "level", "schema", "tally")

    def __init__(self, level: Level, schema: str, distinguisher: str, headers: RawHeaders, tally: Tally) -> None:
        self.level = level
        self.schema = schema
        self.distinguisher = distinguisher
        self.headers = headers
        self.tally = tally
        self.exempt = level.exempt
        self.hand = level.queues.deal(schema, distinguisher)
