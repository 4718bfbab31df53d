"""A group of one's own on the server that all tests share: definitions, and requests for what they define."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.server_process import PATIENCE, Client, Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    warnings: list[str]

    @property
    def problems(self) -> list[str]:
        assert self.status == 422, self.body
        return [f"{cause.get('field', '')}: {cause['message']}" for cause in self.body["details"]["causes"]]


@dataclass
class Group:
    """Definitions of one API group, and the objects they define in one namespace."""

    client: Client
    name: str
    namespace: str
    defined: set[str] = field(default_factory=set)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        response = self.client.send(method, path, body, **headers)
        warnings = [
            line.partition('"')[2].removesuffix('"').replace('\\"', '"')
            for line in response.headers.get_all("Warning") or []
        ]
        text = response.read()
        is_json = "json" in (response.headers.get("content-type") or "")
        return Answer(response.status, json.loads(text) if is_json else text.decode(), warnings)

    def definition(self, schema: Any = None, plural: str = "foos", **spec: Any) -> dict[str, Any]:
        kind = plural.removesuffix("s").capitalize()
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            **spec.pop("version", {}),
        }
        names = {"plural": plural, "kind": kind, **spec.pop("names", {})}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{self.name}"},
            "spec": {"group": self.name, "scope": "Namespaced", "names": names, "versions": [version], **spec},
        }

    def define(self, schema: Any = None, plural: str = "foos", **spec: Any) -> Answer:
        answer = self.call("POST", DEFINITIONS, self.definition(schema, plural, **spec))
        if answer.status == 201:
            self.defined.add(f"{DEFINITIONS}/{plural}.{self.name}")
        return answer

    def path(self, rest: str, version: str = "v1") -> str:
        return f"/apis/{self.name}/{version}/namespaces/{self.namespace}/{rest}"

    def object(self, name: str, version: str = "v1", kind: str = "Foo", **content: Any) -> dict[str, Any]:
        return {"apiVersion": f"{self.name}/{version}", "kind": kind, "metadata": {"name": name}, **content}

    def create(self, name: str, plural: str = "foos", query: str = "", **content: Any) -> Answer:
        return self.call("POST", self.path(plural) + query, self.object(name, **content))

    def patch(self, rest: str, body: Any, kind: str = MERGE, version: str = "v1") -> Answer:
        return self.call("PATCH", self.path(rest, version), body, content_type=kind)

    def get(self, rest: str, version: str = "v1") -> Answer:
        return self.call("GET", self.path(rest, version))

    def until(self, path: str, holds: Callable[[Answer], bool]) -> Answer:
        """Ask again and again until the answer is right."""
        deadline = time.monotonic() + PATIENCE
        while not holds(answer := self.call("GET", path)):
            assert time.monotonic() < deadline, answer
        return answer


@pytest.fixture
def group(shared_server: Server) -> Iterator[Group]:
    with shared_server.client() as client:
        name = uuid.uuid4().hex[:10]
        namespace = f"crd-{name}"
        client.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        own = Group(client, f"g{name}.example.com", namespace)
        yield own
        for path in own.defined:
            client.call("DELETE", path)
