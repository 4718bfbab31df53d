"""Service accounts: every namespace has one called `default`."""

from __future__ import annotations

from kapi.admission.resources import SERVICE_ACCOUNTS
from kapi.api import errors
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.in_every_namespace import in_every_namespace
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue

DEFAULT = "default"


def start(context: Context) -> list[WorkQueue]:
    async def create(namespace: str) -> None:
        account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await context.client.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
        except (errors.AlreadyExists, errors.NotFound):
            return  # it is there, or its namespace has gone

    return [in_every_namespace(context, names.SERVICE_ACCOUNT, create, SERVICE_ACCOUNTS, _is_gone)]


def _is_gone(change: Change) -> bool:
    return change.value is None and change.name == DEFAULT
