"""Which controllers there are, in the order of their names, and how those that were asked for are run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.controllers import root_ca, service_accounts
from kapi.controllers.informer import Informers
from kapi.controllers.namespaces import NamespaceController
from kapi.controllers.work_queue import WorkQueue
from kapi.endpoints.discovery import Catalogue

Start: TypeAlias = Callable[[Client, Informers], WorkQueue]


def controllers(catalogue: Catalogue, clock: Clock, bundle: Callable[[], str]) -> Mapping[str, Start]:
    return {
        "namespace": lambda client, informers: NamespaceController(client, clock, catalogue.entries).start(informers),
        "root-ca-certificate-publisher": root_ca.start(bundle),
        "serviceaccount": service_accounts.start,
    }


async def run(client: Client, starts: Iterable[Start]) -> None:
    """Until cancelled."""
    informers = Informers(client)
    queues = [start(client, informers) for start in starts]
    async with asyncio.TaskGroup() as group:
        for informer in informers.all:
            group.create_task(informer.run())
        for queue in queues:
            group.create_task(queue.run())
