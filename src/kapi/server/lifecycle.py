"""The signals of a server's life, each set once, and what is under way meanwhile. Shared by the servers of a chain."""

from __future__ import annotations

from asyncio import Event

from kapi.filters.wait_group import WaitGroup
from kapi.filters.watch_termination import Watches
from kapi.wire.listener import Listener


class Lifecycle:
    def __init__(self) -> None:
        self.listeners: list[Listener] = []  # the secure port first
        self.serving = Event()
        self.has_been_ready = Event()
        self.shutdown_initiated = Event()  # readyz fails from here on
        self.not_accepting_requests = Event()  # the delay is over and the pre-shutdown hooks are done
        self.drained = Event()  # nothing is in flight any more
        self.stopped = Event()  # hooks and controllers must be gone
        self.requests = WaitGroup()
        self.watches = Watches()
