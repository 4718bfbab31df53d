"""The root CA publisher: every namespace has a ConfigMap with the certificates that prove this server's identity."""

from __future__ import annotations

from kapi.admission.resources import NAMESPACES
from kapi.api import errors
from kapi.api.client import Client
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.namespaces import is_active
from kapi.controllers.work_queue import WorkQueue

CONFIG_MAPS = GroupResource("", "configmaps")
NAME, KEY = "kube-root-ca.crt", "ca.crt"
# As upstream words it: tools that compare clusters read annotations too.
_WHY = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed "
    "across distributions of Kubernetes clusters."
}


def start(context: Context) -> list[WorkQueue]:
    client = context.client

    async def reconcile(namespace: str) -> None:
        if await is_active(client, namespace):
            await _publish(client, f"/api/v1/namespaces/{namespace}/configmaps", context.root_certificates())

    queue = WorkQueue(names.ROOT_CA, reconcile)

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

    def config_changed(change: Change) -> None:
        if change.name == NAME and not (change.value is not None and change.is_new):
            queue.add(change.namespace)

    context.informers.of(NAMESPACES).listen(namespace_changed)
    context.informers.of(CONFIG_MAPS).listen(config_changed, look_everywhere)
    return [queue]


async def _publish(client: Client, path: str, bundle: str) -> None:
    wanted = {KEY: bundle}
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
        try:
            await client.create(path, config)
        except (errors.AlreadyExists, errors.NotFound):
            return  # someone else was faster, or the namespace has gone
