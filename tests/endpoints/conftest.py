"""ConfigMaps in a namespace of one's own on the server that all tests share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tests.server_process import Client, Server


class Answer(NamedTuple):
    status: int
    body: Any
    warnings: list[str]


@dataclass(frozen=True)
class ConfigMaps:
    client: Client
    path: str

    def call(self, method: str, rest: str = "", body: Any = None, **headers: str) -> Answer:
        response = self.client.send(method, self.path + rest, body, **headers)
        warnings = [line.partition('"')[2].removesuffix('"') for line in response.headers.get_all("Warning") or []]
        return Answer(response.status, json.loads(response.read()), warnings)

    def made(self, name: str, **fields: Any) -> Any:
        metadata = {"name": name, **fields.pop("metadata", {})}
        return self.client.create(self.path, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, **fields})


@pytest.fixture
def config_maps(shared_server: Server) -> Iterator[ConfigMaps]:
    with shared_server.client() as client:
        name = f"t-{uuid.uuid4().hex[:10]}"
        client.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield ConfigMaps(client, f"/api/v1/namespaces/{name}/configmaps")
