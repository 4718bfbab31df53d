"""What plugins are made of: the parts of the server that they look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapi.admission.lookup import Lookup
from kapi.admission.versions import Versions
from kapi.admission.webhooks.metrics import WebhookMetrics
from kapi.api.authorizer import Authorizer
from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.proxy.hook_clients import HookClients
from kapi.telemetry.metrics import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """What a pod's spec comes to, as the pod's own rules reckon it."""

    of_containers: Callable[[Object, str], Mapping[str, Quantity]]  # requests or limits of all containers together
    requests: Callable[[Object], Mapping[str, Quantity]]
    quality_of_service: Callable[[Object], str]
    is_extended: Callable[[str], bool]  # whether a resource's name is one that only some nodes know


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    lookup: Lookup
    versions: Versions
    authorizer: Authorizer
    clock: Clock
    pod_resources: PodResources
    hooks: HookClients
    webhook_metrics: WebhookMetrics
    not_ready_seconds: int = 300
    unreachable_seconds: int = 300
    functions: Sequence[Callable[..., Any]] = ()  # as kapi.admission.functions has them
    metrics: Registry = field(default_factory=Registry)
    features: Mapping[str, bool] = field(default_factory=dict)
