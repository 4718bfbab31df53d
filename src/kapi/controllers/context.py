"""What a controller is given: the client it acts with, the informers that tell it what to look at, and the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kapi.admission.lookup import Lookup
from kapi.admission.quota.evaluators import Evaluators
from kapi.admission.versions import Versions
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.controllers.informer import Informers
from kapi.controllers.resources import Resources
from kapi.controllers.work_queue import WorkQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    client: Client
    clock: Clock
    informers: Informers
    resources: Resources
    versions: Versions  # the types of what is served
    lookup: Lookup  # the watch caches, for those who look at many objects at once
    evaluators: Evaluators
    root_certificates: Callable[[], str]


# Listens to what it needs; the queues that do its work are run with the informers.
Start: TypeAlias = Callable[[Context], list[WorkQueue]]
