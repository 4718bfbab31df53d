"""The root CA publisher: every namespace has a ConfigMap with the certificates that prove this server's identity."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.in_every_namespace import in_every_namespace
from kapi.controllers.informer import Change
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
    async def publish(namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        await _publish(context.client, path, context.root_certificates())

    return [in_every_namespace(context, names.ROOT_CA, publish, CONFIG_MAPS, _is_no_longer_ours)]


def _is_no_longer_ours(change: Change) -> bool:
    return change.name == NAME and not (change.value is not None and change.is_new)


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
