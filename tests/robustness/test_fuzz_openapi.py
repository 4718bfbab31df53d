"""Random requests for every operation of our own OpenAPI documents.

Whatever is sent, the answer is no server error, nothing panics, nothing takes long, and the server goes on.
A failure prints the seed's request; the same seed makes the same request again.
"""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Iterator

import pytest

from tests.robustness.fuzz import Fuzzer, Operation, operations
from tests.robustness.fuzz_answers import answer, problem
from tests.server_process import Server

ROUNDS = 40 if os.environ.get("KAPI_LONG") == "1" else 2
NAMESPACE = "fuzz"
NAMES = {
    "namespace": (NAMESPACE, NAMESPACE, NAMESPACE, "missing"),
    "name": ("a", "b", "c", "web"),
    "path": ("x", "x/y"),
}
GROUPS = (
    "api/v1",
    *(
        "apis/" + name
        for name in ("admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1")
    ),
    *("apis/" + name for name in ("apps/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1", "autoscaling/v1")),
    *("apis/" + name for name in ("autoscaling/v2", "batch/v1", "certificates.k8s.io/v1", "coordination.k8s.io/v1")),
    *("apis/" + name for name in ("discovery.k8s.io/v1", "events.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1")),
    *(
        "apis/" + name
        for name in ("networking.k8s.io/v1", "node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1")
    ),
    *("apis/" + name for name in ("resource.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1")),
    "apis/storagemigration.k8s.io/v1",
)
# What would change how later requests are answered: webhooks, policies, other servers' groups, quotas, the namespace.
DRY = (
    "/admissionregistration.",
    "/apiregistration.",
    "/apiextensions.",
    "/resourcequotas",
    "/limitranges",
    "/namespaces/{name}",
)


def keep(operation: Operation) -> bool:
    return not any(part in operation.path for part in DRY)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("fuzzed"))
    try:
        server.start()
        with server.client() as client:
            client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            client.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        yield server
    finally:
        server.end()


@pytest.mark.parametrize("group", GROUPS)
def test_no_request_is_a_server_error(server: Server, group: str) -> None:
    with server.client() as client:
        document = client.get(f"/openapi/v3/{group}")
        found = list(operations(document))
        assert found
        fuzzer = Fuzzer(group, NAMES, keep)
        problems = []
        for operation in found * ROUNDS:
            attempt = fuzzer.attempt(operation)
            logged = len(server.log)
            began = time.monotonic()
            try:
                status, body = answer(client, attempt, whole=not operation.watches)
            except (OSError, http.client.HTTPException) as error:
                problems.append(f"{attempt}\n  no answer: {error!r}")
                client.connection.close()
                continue
            wrong = problem(attempt, status, body, time.monotonic() - began)
            if wrong:
                problems.append(f"{attempt}\n  {wrong}\n{''.join(server.log[logged:])[:1500]}")
        assert not problems, f"{len(problems)} of {len(found) * ROUNDS}\n" + "\n".join(problems[:8])
        assert client.text("/readyz")[1] == "ok"
    assert not [line for line in server.log if "panic" in line or "Traceback" in line]
