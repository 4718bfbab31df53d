"""A namespace of one's own, by short paths, on the server that all tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.server_process import Client, Server


@dataclass
class Place:
    client: Client
    name: str

    def path(self, plural: str, group: str = "api/v1") -> str:
        return f"/{group}/namespaces/{self.name}/{plural}"

    def made(self, plural: str, body: Any, group: str = "api/v1") -> Any:
        return self.client.create(self.path(plural, group), body)

    def refusal(self, plural: str, body: Any, group: str = "api/v1") -> str:
        status, answer = self.client.call("POST", self.path(plural, group), body)
        assert status == 403, answer
        return str(answer["message"])

    def quota(self, name: str, hard: dict[str, str], **spec: Any) -> None:
        """A quota whose usage is known to be nothing, as a controller would have found."""
        body: Any = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": name},
            "spec": {"hard": hard, **spec},
        }
        self.made("resourcequotas", body)
        body["status"] = {"hard": hard, "used": dict.fromkeys(hard, "0")}
        status, answer = self.client.call("PUT", self.path(f"resourcequotas/{name}/status"), body)
        assert status == 200, answer

    def used(self, name: str) -> dict[str, str]:
        _, answer = self.client.call("GET", self.path(f"resourcequotas/{name}"))
        found: dict[str, str] = answer["status"]["used"]
        return found


@pytest.fixture
def place(shared_server: Server) -> Iterator[Place]:
    with shared_server.client() as client:
        name = f"t-{uuid.uuid4().hex[:10]}"
        client.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        place = Place(client, name)
        place.made("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        yield place
