"""A namespace of one's own on the server that all tests share: `namespace` by paths, `api` by group and resource."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.server_process import Client, Server


@dataclass
class Namespace:
    """Requests below one namespace of one group; `group` is `api/v1` or `apis/GROUP/VERSION`."""

    client: Client
    name: str

    def path(self, plural: str, name: str = "", group: str = "api/v1") -> str:
        path = f"/{group}/namespaces/{self.name}/{plural}"
        return f"{path}/{name}" if name else path

    def messages(self, method: str, path: str, body: Any, **headers: str) -> list[str]:
        """What is wrong with it: every cause as `field: message`."""
        status, answer = self.client.call(method, path, body, **headers)
        assert status == 422, answer
        return [f"{cause['field']}: {cause['message']}" for cause in answer["details"]["causes"]]


@pytest.fixture
def namespace(shared_server: Server) -> Iterator[Namespace]:
    with shared_server.client() as client:
        name = f"t-{uuid.uuid4().hex[:10]}"
        client.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Namespace(client, name)
        client.call("DELETE", f"/api/v1/namespaces/{name}/services")


_PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    warnings: list[str]

    @property
    def problems(self) -> list[str]:
        """What was wrong, field by field."""
        assert self.status == 422, self.body
        return [f"{cause.get('field', '')}: {cause['message']}" for cause in self.body["details"]["causes"]]


@dataclass(frozen=True)
class Api:
    """Requests in one namespace, to paths such as `apps/v1:deployments/web/scale`."""

    client: Client
    namespace: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        group_version, _, rest = path.partition(":")
        root = "api" if group_version == "v1" else "apis"
        url = f"/{root}/{group_version}/namespaces/{self.namespace}/{rest}"
        response = self.client.send(method, url, body, **headers)
        warnings = [line.partition('"')[2].removesuffix('"') for line in response.headers.get_all("Warning") or []]
        return Answer(response.status, json.loads(response.read()), warnings)

    def create(self, path: str, body: Any) -> Answer:
        return self.call("POST", path, body)

    def made(self, path: str, body: Any) -> Any:
        answer = self.create(path, body)
        assert answer.status == 201, answer.body
        return answer.body

    def put(self, path: str, body: Any) -> Answer:
        return self.call("PUT", path, body)

    def patch(self, path: str, body: Any, kind: str = "merge") -> Answer:
        return self.call("PATCH", path, body, content_type=_PATCHES[kind])

    def get(self, path: str, **headers: str) -> Any:
        answer = self.call("GET", path, **headers)
        assert answer.status == 200, answer.body
        return answer.body

    def cells(self, path: str) -> dict[str, Any]:
        """The one row of a table, by column."""
        table = self.get(path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        names = [column["name"] for column in table["columnDefinitions"]]
        return dict(zip(names, table["rows"][0]["cells"], strict=True))


@pytest.fixture
def api(namespace: Namespace) -> Api:
    return Api(namespace.client, namespace.name)


@dataclass(frozen=True)
class Cluster:
    """Cluster-scoped objects, at paths such as `rbac.authorization.k8s.io/v1:clusterroles`. `name` is nobody else's."""

    client: Client
    name: str
    created: list[str] = field(default_factory=list)  # paths; what is left of them goes with the test

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        group_version, _, rest = path.partition(":")
        url = f"/{'api' if group_version == 'v1' else 'apis'}/{group_version}/{rest}"
        if isinstance(body, dict) and method == "POST":
            body = {**body, "apiVersion": group_version, "metadata": {"name": self.name, **body.get("metadata", {})}}
        response = self.client.send(method, url, body, **headers)
        warnings = [line.partition('"')[2].removesuffix('"') for line in response.headers.get_all("Warning") or []]
        answer = Answer(response.status, json.loads(response.read()), warnings)
        if method == "POST" and answer.status == 201 and (name := answer.body["metadata"].get("name")):
            self.created.append(f"{url.partition('?')[0]}/{name}")
        return answer

    def problems(self, path: str, body: Any) -> list[str]:
        """What is wrong with a new object, field by field."""
        return self.call("POST", path, body).problems

    def made(self, path: str, body: Any) -> Any:
        answer = self.call("POST", path, body)
        assert answer.status == 201, answer.body
        return answer.body

    def put(self, path: str, body: Any) -> Answer:
        return self.call("PUT", f"{path}/{body['metadata']['name']}", body)

    def cells(self, path: str) -> dict[str, Any]:
        """The row of the one object of that name, by column."""
        answer = self.call("GET", f"{path}/{self.name}", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        assert answer.status == 200, answer.body
        names = [column["name"] for column in answer.body["columnDefinitions"]]
        return dict(zip(names, answer.body["rows"][0]["cells"], strict=True))


@pytest.fixture
def cluster(shared_server: Server) -> Iterator[Cluster]:
    with shared_server.client() as client:
        cluster = Cluster(client, f"t-{uuid.uuid4().hex[:10]}")
        yield cluster
        for path in cluster.created:
            client.call("DELETE", path)
