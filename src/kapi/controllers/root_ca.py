"""The root CA publisher: every namespace has a ConfigMap with the certificates that prove this server's identity."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.controllers.informer import Informers
from kapi.controllers.work_queue import WorkQueue

NAMESPACES = "/api/v1/namespaces"
NAME, KEY = "kube-root-ca.crt", "ca.crt"
_WHY = {"kubernetes.io/description": "The certificates that prove the identity of this cluster's API server."}


def start(bundle: Callable[[], str]) -> Callable[[Client, Informers], WorkQueue]:
    """`bundle` is the PEM text to publish."""

    def run(client: Client, informers: Informers) -> WorkQueue:
        namespaces = informers.of(NAMESPACES)

        async def reconcile(namespace: str) -> None:
            found = namespaces.objects.get(namespace)
            if found is None or found["metadata"].get("deletionTimestamp"):
                return
            path = f"{NAMESPACES}/{namespace}/configmaps"
            wanted = {KEY: bundle()}
            config: Object = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": NAME, "annotations": _WHY},
                "data": wanted,
            }
            try:
                present = await client.get(f"{path}/{NAME}")
                if present.get("data") != wanted:
                    await client.update(f"{path}/{NAME}", {**present, "data": wanted})
            except errors.NotFound:
                await _create(client, path, config)

        queue = WorkQueue("root-ca", reconcile)
        namespaces.listen(lambda key, found: queue.add(key) if found is not None else None)
        return queue

    return run


async def _create(client: Client, path: str, config: Object) -> None:
    try:
        await client.create(path, config)
    except (errors.AlreadyExists, errors.NotFound):
        return  # someone else was faster, or the namespace has gone
