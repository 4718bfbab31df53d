"""Whatever arrives, the server answers with a Status or closes the connection, and goes on.

Two answers of upstream's are kept: 500 for a resourceVersion that is no number, 504 for one that has not happened yet.
"""

from __future__ import annotations

import asyncio
import json
import random
import string
from contextlib import suppress
from urllib.parse import quote

import pytest

PATHS = [
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/configmaps/x",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/watch/namespaces/default/configmaps",
    "/api/v1/configmaps",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
    "/version",
    "/healthz",
    "/openapi/v2",
    "/openapi/v3",
]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]
PARAMETERS = [
    "watch",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "labelSelector",
    "fieldSelector",
    "timeoutSeconds",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "pretty",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "timeout",
    "includeObject",
]
TYPES = [
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;charset=utf-8",
    "text/plain",
    "*/*",
    "",
    ";;;",
]
ACCEPTS = [
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "*/*",
    "x",
    ",;q=",
]


class Chaos:
    """Everything a client should not send, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, longest: int = 20) -> str:
        alphabet = string.ascii_letters + string.digits + "-_.~/=,()!<>%&?#\"'\\{}[]: \t\x00\x7fé\u202e\U0001f600"
        return "".join(self.random.choices(alphabet, k=self.random.randint(0, longest)))

    def word(self) -> str:
        make = self.random.choice(
            [
                self.text,
                lambda: str(self.random.randint(-(1 << 70), 1 << 70)),
                lambda: str(self.random.randint(0, 50)),
                lambda: "9" * 5000,
                lambda: self.random.choice(["true", "false", "0", "1", "", "null", "All", "Exact", "NotOlderThan"]),
                lambda: self.random.choice(
                    ["a=b", "a in (b,c)", "!a", "a,,b", "metadata.name=x", "x.y=z", "((", "a=b=c"]
                ),
                lambda: self.random.choice(["eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0", "e30", "////"]),
            ]
        )
        return make()

    def path(self) -> str:
        path = self.random.choice(PATHS)
        for _ in range(self.random.choice((0, 0, 0, 1, 3))):
            path += "/" + quote(self.text(), safe=self.random.choice(("", "/%")))
        query = "&".join(self.parameter() for _ in range(self.random.choice((0, 1, 2, 4))))
        path = path.replace(" ", "+").replace("\t", "").replace("\x00", "").replace("#", "")
        return path.encode("ascii", "ignore").decode() + "?timeoutSeconds=1&" + query

    def parameter(self) -> str:
        name = self.random.choice([*PARAMETERS, quote(self.text())])
        return f"{name}={quote(self.word(), safe=self.random.choice(('', '%')))}"

    def value(self, depth: int = 0):
        if depth > 3:
            return self.text()
        return self.random.choice(
            [
                lambda: None,
                lambda: self.random.choice((True, 0, -1, 1 << 70, 1e308, 0.5)),
                self.text,
                lambda: [self.value(depth + 1) for _ in range(self.random.randint(0, 3))],
                lambda: {self.key(): self.value(depth + 1) for _ in range(self.random.randint(0, 4))},
            ]
        )()

    def key(self) -> str:
        known = ["apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations", "data", "spec", "op"]
        known += ["finalizers", "ownerReferences", "managedFields", "resourceVersion", "path", "value", "preconditions"]
        return self.random.choice(known) if self.random.random() < 0.8 else self.text()

    def body(self) -> bytes:
        shape = self.random.random()
        if shape < 0.15:
            return self.random.randbytes(self.random.randint(0, 300))
        if shape < 0.2:
            return b"[" * 200_000
        if shape < 0.25:
            return b"k8s\x00" + self.random.randbytes(60)
        if shape < 0.6:
            metadata = {"name": "x", self.key(): self.value()}
            found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, self.key(): self.value()}
            return json.dumps(found).encode()
        body = json.dumps(self.value()).encode()
        return body[: self.random.randint(0, len(body))] if self.random.random() < 0.3 else body


def documented(answer) -> bool:
    """What upstream gives as well: for a resourceVersion that is not a number, or has not happened yet."""
    words = {500: b"strconv.ParseUint", 504: b"Too large resource version"}
    return answer.status in words and words[answer.status] in answer.body


@pytest.fixture
def server(new_server):
    return new_server().start()


def faults(server) -> list[str]:
    return [line for line in server.log if "panic" in line or "Traceback" in line or "request_failed" in line]


def test_no_request_makes_the_server_fail(server, new_client, gone, long):
    seed = random.randrange(1 << 30)
    chaos = Chaos(seed)
    failed: list[str] = []

    async def one(client) -> None:
        method, path = chaos.random.choice(METHODS), chaos.path()
        body = chaos.body() if method in ("POST", "PUT", "PATCH", "DELETE") else None
        headers = {"content_type": chaos.random.choice(TYPES), "accept": chaos.random.choice(ACCEPTS)}
        try:
            async with asyncio.timeout(30):
                answer = await client.request(method, path, body, **headers)
        except gone:
            return  # refused without an answer
        if answer.status >= 500 and not documented(answer):
            failed.append(f"{method} {path} {headers} {str(body)[:500]} → {answer.status} {answer.body[:500]!r}")

    async def play() -> None:
        clients = [new_client(server.port) for _ in range(8)]
        for _ in range(400 if long else 40):
            await asyncio.gather(*map(one, clients))
        sane = await clients[0].request("GET", "/api/v1/namespaces/default")
        assert sane.status == 200

    new_client.run(play)
    assert server.alive
    assert failed == [], f"seed {seed}"
    assert faults(server) == [], f"seed {seed}"


def test_random_bytes_on_a_connection_end_that_connection_only(server, new_client):
    seed = random.randrange(1 << 30)
    chaos = random.Random(seed)
    beginnings = [b"", b"GET / HTTP/1.1\r\n", b"POST /api HTTP/1.1\r\ncontent-length: 5\r\n\r\n", b"\x16\x03\x01"]
    beginnings += [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"]

    async def one(client) -> None:
        reader, writer = await client.connect()
        writer.write(chaos.choice(beginnings) + chaos.randbytes(chaos.randint(1, 2000)))
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(0.2):
                await reader.read()
        writer.transport.abort()

    async def play() -> None:
        client = new_client(server.port)
        for _ in range(6):
            await asyncio.gather(*(one(client) for _ in range(20)))
        assert (await client.request("GET", "/readyz")).status == 200

    new_client.run(play)
    assert server.alive
    assert faults(server) == [], f"seed {seed}"


def test_clients_that_leave_in_the_middle_harm_nobody(server, new_client):
    """Half a request, half an answer, a watch cut off: many at once."""

    async def leave(client, number: int) -> None:
        _, writer = await client.connect()
        head = b"authorization: Bearer robust\r\nhost: x\r\n"
        writer.write(
            [
                b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n" + head + b"content-length: 99\r\n\r\n{",
                b"GET /api/v1/namespaces HTTP/1.1\r\n" + head + b"\r\n",
                b"GET /api/v1/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\n" + head + b"\r\n",
            ][number % 3]
        )
        if number % 2:
            await writer.drain()
        writer.transport.abort()

    async def play() -> None:
        client = new_client(server.port)
        for _ in range(5):
            await asyncio.gather(*(leave(client, i) for i in range(30)))
        body = {"metadata": {"name": "after"}}
        assert (await client.request("POST", "/api/v1/namespaces/default/configmaps", body)).status == 201

    new_client.run(play)
    assert server.alive
    assert faults(server) == []
