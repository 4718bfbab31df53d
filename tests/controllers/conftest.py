"""A server with all controllers in process, and a world of one's own in it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.controllers.world import World
from tests.server_process import Server


@pytest.fixture(scope="session")
def controlled_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for the whole run, started: use names of your own, and do not harm it."""
    server = Server(tmp_path_factory.mktemp("controlled"), "--in-process-controllers=all")
    try:
        yield server.start()
        assert server.stop() == 0
    finally:
        server.end()


@pytest.fixture
def world(controlled_server: Server) -> Iterator[World]:
    """A namespace that only one test uses."""
    with controlled_server.client() as client:
        found = World(controlled_server, client, f"t-{uuid.uuid4().hex[:10]}")
        found.create("namespaces", {"metadata": {"name": found.namespace}})
        yield found
