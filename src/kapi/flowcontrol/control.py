"""Flow control: the flow schemas and priority levels as they are now, and which of them a request belongs to.

It follows the caches of both resources: a change holds for the next request. What it takes to find a request's flow is
done once for each user, verb, resource and namespace, and kept until either resource changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.flowcontrol.configuration import Configuration
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.interest import Interest
from kapi.flowcontrol.level import Level, Settings, adjust, divide
from kapi.flowcontrol.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from kapi.flowcontrol.metrics import FlowControlMetrics
from kapi.flowcontrol.schema import Schema
from kapi.flowcontrol.work import Estimator, StatsOf
from kapi.telemetry.instruments import Instruments

ADJUST_SECONDS = 10.0
_MOST_FLOWS = 100_000
_Key: TypeAlias = tuple[str, tuple[str, ...], bool, str, str, str, str, str]


class FlowControl:
    """`seats` is how many requests of one seat each may execute at a time, those that are exempt left aside."""

    def __init__(self, seats: int, clock: Clock, instruments: Instruments) -> None:
        self.seats = seats
        self.clock = clock
        self.metrics = FlowControlMetrics(instruments.registry, instruments.requests)
        self.interest = Interest()
        self.estimator = Estimator(lambda group, resource: None, self.interest, self.metrics)
        self.levels: dict[str, Level] = {}
        self.configuration = Configuration(self._changed)
        self._schemas: list[Schema] = []
        self._flows: dict[_Key, Flow] = {}
        self._stale = True
        self.metrics.before_reading(self._tell_utilization)

    def _tell_utilization(self) -> None:
        for level in self.levels.values():
            self.metrics.utilization.tell(level.queues, level.nominal, level.settings.queuing.room)

    def bind_stats(self, stats: StatsOf) -> None:
        """Where the sizes of lists are estimated from."""
        self.estimator = Estimator(stats, self.interest, self.metrics)

    # Classification

    def classify(self, user: User, info: RequestInfo) -> Flow:
        if self._stale:
            self.digest()
        key = (
            user.name,
            user.groups,
            info.is_resource_request,
            info.verb,
            info.api_group,
            info.resource if info.is_resource_request else info.path,
            info.subresource,
            info.namespace,
        )
        flow = self._flows.get(key)
        if flow is None:
            if len(self._flows) >= _MOST_FLOWS:
                self._flows.clear()
            flow = self._flows[key] = self._flow(user, info)
        return flow

    def _flow(self, user: User, info: RequestInfo) -> Flow:
        # Every user is authenticated or not, and so matches the last one; whoever is neither is treated like that.
        matching = (schema for schema in self._schemas if schema.matches(user, info))
        schema = next(matching, None) or next(s for s in self._schemas if s.name == "catch-all")
        level = self.levels[schema.level]
        told_apart = level.settings.queuing.queues > 1
        # The UIDs, not the names, as upstream: clients need not know what they are thought of.
        headers = [
            (b"x-kubernetes-pf-flowschema-uid", schema.uid.encode()),
            (b"x-kubernetes-pf-prioritylevel-uid", level.settings.uid.encode()),
        ]
        distinguisher = schema.distinguisher(user, info) if told_apart else ""
        return Flow(level, schema.name, distinguisher, headers, self.metrics.tally(level.name, schema.name))

    # Configuration

    def _changed(self) -> None:
        """The next request sees it; requests that wait for seats see it when the loop comes around."""
        if not self._stale:
            self._stale = True
            asyncio.get_running_loop().call_soon(self.digest)

    def digest(self) -> None:
        if not self._stale:
            return
        self._stale = False
        wanted = _with_mandatory(self.configuration.levels.values(), PRIORITY_LEVELS)
        levels = {name: self._level(name, Settings.of(level)) for name, level in wanted.items()}
        schemas = [
            Schema(schema) for schema in _with_mandatory(self.configuration.schemas.values(), FLOW_SCHEMAS).values()
        ]
        # A schema without a level is as good as none: others may match.
        self._schemas = sorted((s for s in schemas if s.level in levels), key=lambda s: (s.precedence, s.name))
        for name, level in self.levels.items():
            if name not in levels and not level.queues.idle:
                level.quiescing = True
                level.queues.on_idle = self._changed
                levels[name] = level
        self.levels = levels
        self._flows.clear()
        divide(self.seats, levels.values())
        self.adjust()

    def _level(self, name: str, settings: Settings) -> Level:
        level = self.levels.get(name) or Level(name, self.clock.monotonic, self.metrics)
        level.settings = settings
        level.quiescing = False
        level.queues.on_idle = None
        return level

    def adjust(self) -> None:
        """Lend and borrow by what was asked for since the last time."""
        adjust(self.levels, self.metrics)

    async def keep_adjusting(self) -> None:
        while True:
            await asyncio.sleep(ADJUST_SECONDS)
            self.adjust()


def _with_mandatory(found: Iterable[Object], mandatory: Mapping[str, Object]) -> dict[str, Object]:
    """By name; what must be there and is not is imagined."""
    named = {decoded["metadata"]["name"]: decoded for decoded in found}
    return {name: {"metadata": {"name": name}, "spec": spec} for name, spec in mandatory.items()} | named
