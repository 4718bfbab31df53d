"""The log and the metrics of one server, handed down together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kapi.telemetry.audit import AuditMetrics
from kapi.telemetry.health import HealthMetrics
from kapi.telemetry.log import Log, log
from kapi.telemetry.metrics import Registry
from kapi.telemetry.process import register_build_info, register_process_metrics
from kapi.telemetry.requests import RequestMetrics


@dataclass(frozen=True, slots=True)
class Instruments:
    """`slis` is a registry of its own: service levels are scraped more often than the rest."""

    log: Log
    registry: Registry
    slis: Registry
    requests: RequestMetrics
    health: HealthMetrics
    audit: AuditMetrics

    @classmethod
    def create(cls, version: Mapping[str, str], log: Log = log) -> Instruments:
        registry, slis = Registry(), Registry()
        register_process_metrics(registry)
        register_build_info(registry, version)
        return cls(log, registry, slis, RequestMetrics(registry), HealthMetrics(slis), AuditMetrics(registry))
