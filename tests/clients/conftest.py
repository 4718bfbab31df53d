"""A namespace that only one test uses, and kubectl in it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.server_process import Server


@pytest.fixture
def own_namespace(shared_server: Server) -> str:
    """Made for this test, with the service account that its pods run as."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    with shared_server.client() as client:
        client.create("/api/v1/namespaces", {"metadata": {"name": name}})
        client.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    return name


@pytest.fixture
def kubectl(shared_server: Server, tmp_path: Path, own_namespace: str) -> Kubectl:
    return Kubectl(shared_server, tmp_path, own_namespace)
