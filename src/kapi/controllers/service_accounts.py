"""Service accounts: every namespace has one called `default`."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.controllers.informer import Informers
from kapi.controllers.work_queue import WorkQueue

NAMESPACES = "/api/v1/namespaces"
ACCOUNTS = "/api/v1/serviceaccounts"
DEFAULT = "default"


def start(client: Client, informers: Informers) -> WorkQueue:
    namespaces = informers.of(NAMESPACES)

    async def reconcile(namespace: str) -> None:
        found = namespaces.objects.get(namespace)
        if found is None or found["metadata"].get("deletionTimestamp"):
            return
        account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await client.create(f"{NAMESPACES}/{namespace}/serviceaccounts", account)
        except (errors.AlreadyExists, errors.NotFound):
            return  # it is there, or its namespace has gone

    queue = WorkQueue("service-accounts", reconcile)
    namespaces.listen(lambda key, found: queue.add(key) if found is not None else None)

    def account_changed(key: str, found: Object | None) -> None:
        namespace, _, name = key.partition("/")
        if found is None and name == DEFAULT:
            queue.add(namespace)

    informers.of(ACCOUNTS).listen(account_changed)
    return queue
