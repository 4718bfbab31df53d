"""The namespaces that are always there."""

from __future__ import annotations

from kapi.api import errors
from kapi.server.hooks import HookContext

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


async def create_system_namespaces(context: HookContext) -> None:
    for name in SYSTEM_NAMESPACES:
        try:
            await context.client.get(f"/api/v1/namespaces/{name}")
        except errors.NotFound:
            await _create(context, name)


async def _create(context: HookContext, name: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        await context.client.create("/api/v1/namespaces", namespace)
    except errors.AlreadyExists:
        # Another server on the same store was faster.
        return
