"""Service accounts: every namespace has one called `default`."""

from __future__ import annotations

from kapi.admission.resources import NAMESPACES, SERVICE_ACCOUNTS
from kapi.api import errors
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.namespaces import is_active
from kapi.controllers.work_queue import WorkQueue

DEFAULT = "default"


def start(context: Context) -> list[WorkQueue]:
    client = context.client

    async def reconcile(namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        if await is_active(client, namespace):
            try:
                await client.create(path, account)
            except (errors.AlreadyExists, errors.NotFound):
                return  # it is there, or its namespace has gone

    queue = WorkQueue(names.SERVICE_ACCOUNT, reconcile)

    known: set[str] = set()

    def namespace_changed(change: Change) -> None:
        if change.value is None:
            known.discard(change.name)
        elif change.is_new:
            known.add(change.name)
            queue.add(change.name)

    def look_everywhere() -> None:
        for namespace in known:
            queue.add(namespace)

    def account_changed(change: Change) -> None:
        if change.value is None and change.name == DEFAULT:
            queue.add(change.namespace)

    context.informers.of(NAMESPACES).listen(namespace_changed)
    context.informers.of(SERVICE_ACCOUNTS).listen(account_changed, look_everywhere)
    return [queue]
