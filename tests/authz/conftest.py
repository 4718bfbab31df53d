"""The caches of the rbac objects over a store in memory, and roles and bindings to put into it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from kapi.api.clock import SystemClock
from kapi.authz.bindings import Caches
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Shape
from kapi.storage.memory import MemoryKV

GROUP = "rbac.authorization.k8s.io"
PLURALS = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}


class World:
    """Objects in a store, and the caches that follow it."""

    def __init__(self) -> None:
        self.store = MemoryKV()
        self._cachers: list[Cacher] = []

    def cacher(self, kind: str, plural: str, api_version: str = f"{GROUP}/v1") -> Cacher:
        shape = Shape(kind=kind, api_version=api_version, fields_of=lambda _: {})
        cacher = Cacher(self.store, f"/registry/{plural}/", shape, SystemClock())
        self._cachers.append(cacher)
        return cacher

    def caches(self) -> Caches:
        return Caches(*(self.cacher(kind, plural) for kind, plural in PLURALS.items()))

    @staticmethod
    def key(plural: str, obj: dict[str, Any]) -> str:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace")
        return (
            f"/registry/{plural}/{namespace}/{metadata['name']}"
            if namespace
            else f"/registry/{plural}/{metadata['name']}"
        )

    async def put(self, plural: str, kind: str, api_version: str, obj: dict[str, Any]) -> None:
        await self.drop(plural, obj)
        value = {"kind": kind, "apiVersion": api_version, **obj}
        await self.store.create(self.key(plural, obj), orjson.dumps(value))

    async def drop(self, plural: str, obj: dict[str, Any]) -> None:
        found, _ = await self.store.get(self.key(plural, obj))
        if found is not None:
            await self.store.delete(self.key(plural, obj), found.revision)

    async def role(self, name: str, *rules: dict[str, Any], namespace: str = "") -> None:
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        await self.put(PLURALS[kind], kind, f"{GROUP}/v1", {"metadata": metadata, "rules": list(rules)})

    async def bind(self, name: str, role: str, *subjects: str, namespace: str = "", cluster_role: bool = False) -> None:
        """Subjects as `User:alice`, `Group:dev`, `ServiceAccount:ns/name`."""
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        refers_to = "Role" if namespace and not cluster_role else "ClusterRole"
        binding = {
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": refers_to, "name": role},
            "subjects": [_subject(text) for text in subjects],
        }
        await self.put(PLURALS[kind], kind, f"{GROUP}/v1", binding)

    async def unbind(self, name: str, namespace: str = "") -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        await self.drop(PLURALS["RoleBinding" if namespace else "ClusterRoleBinding"], {"metadata": metadata})

    async def close(self) -> None:
        for cacher in self._cachers:
            await cacher.close()
        await self.store.close()


def _subject(text: str) -> dict[str, str]:
    kind, _, name = text.partition(":")
    if kind != "ServiceAccount":
        return {"kind": kind, "apiGroup": GROUP, "name": name}
    namespace, _, name = name.rpartition("/")
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


@pytest.fixture
def in_world() -> Callable[[Callable[[World], Awaitable[Any]]], Any]:
    """Run a function with a new world, which ends with it."""

    def go(test: Callable[[World], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            world = World()
            await world.store.start()
            try:
                return await test(world)
            finally:
                await world.close()

        return asyncio.run(main())

    return go
