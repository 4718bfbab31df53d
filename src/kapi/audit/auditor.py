"""The auditor: what the policy decides becomes a record of the request, and its stages become events in the sink."""

from __future__ import annotations

import asyncio
from asyncio import Task
from dataclasses import dataclass, field

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.user import User
from kapi.audit.event import Record
from kapi.audit.policy import Level, Policy
from kapi.audit.sink import Sink
from kapi.telemetry.audit import AuditMetrics


@dataclass(frozen=True, slots=True)
class Auditor:
    policy: Policy
    sink: Sink
    metrics: AuditMetrics
    clock: Clock
    _pending: set[Task[bool]] = field(default_factory=set)

    async def start(self) -> None:
        await self.sink.start()

    async def stop(self) -> None:
        """Write out what is held back."""
        await asyncio.gather(*self._pending)
        await self.sink.stop()

    def begin(self, call: Call, user: User | None) -> Record | None:
        """The record of a request that is to be audited; None when the policy has no interest in it."""
        decision = self.policy.decide(user, call.info)
        self.metrics.levels.inc((decision.label,))
        if decision.level is Level.NONE:
            return None
        return Record(user, decision, self.clock)

    async def process(self, call: Call, record: Record, stage: str) -> bool:
        """The request has come to this stage; False when that could not be written down."""
        if stage in record.omitted:
            return True
        self.metrics.events.inc()
        return await self.sink.process((record.event(call, stage),))

    def process_later(self, call: Call, record: Record, stage: str) -> None:
        """The same where nobody can wait for it: when a response has been streamed, or will never be."""
        task = asyncio.ensure_future(self.process(call, record, stage))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
