"""`/debug/pprof/` of a real server, and the verbosity that can be changed while it runs."""

from __future__ import annotations

import json
import marshal
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.server_process import Client, Server

ROOT = "/debug/pprof"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client("admin", "system:masters") as found:
        yield found


def test_the_index_links_to_every_profile(client: Client) -> None:
    response = client.send("GET", f"{ROOT}/")
    page = response.read().decode()
    assert (response.status, response.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for name in ("allocs", "cmdline", "goroutine", "heap", "profile", "symbol", "threadcreate", "trace"):
        assert f'href="{name}"' in page
    response = client.send("GET", ROOT)
    response.read()
    assert (response.status, response.headers["Location"]) == (301, f"{ROOT}/")


def test_tasks_and_threads_are_shown_with_where_they_are(client: Client) -> None:
    status, text = client.text(f"{ROOT}/goroutine")
    assert status == 200
    assert "task compaction:" in text
    assert "thread MainThread:" in text
    assert "thread MainThread:" in client.text(f"{ROOT}/threadcreate")[1]


def test_memory_is_shown_by_type_or_by_line(client: Client) -> None:
    status, text = client.text(f"{ROOT}/heap")
    assert (status, " dict\n" in text) == (200, True)
    status, text = client.text(f"{ROOT}/heap?seconds=0.05")
    assert (status, text.startswith("heap profile: ")) == (200, True)


def test_a_profile_can_be_loaded_and_read(client: Client, shared_server: Server) -> None:
    def busy(stop: threading.Event) -> None:
        with shared_server.client("admin", "system:masters") as other:
            while not stop.is_set():
                other.get("/api/v1/namespaces/default")

    stop = threading.Event()
    worker = threading.Thread(target=busy, args=(stop,))
    worker.start()
    try:
        response = client.send("GET", f"{ROOT}/profile?seconds=0.2")
        stats = marshal.loads(response.read())
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert any("kapi" in file for file, _, _ in stats)
        assert "function calls" in client.text(f"{ROOT}/profile?seconds=0.1&debug=1")[1]
        events = json.loads(client.text(f"{ROOT}/trace?seconds=0.1")[1])["traceEvents"]
        assert {event["ph"] for event in events} == {"B", "E"}
    finally:
        stop.set()
        worker.join()


def test_two_profiles_of_time_at_once_are_one_too_many(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    with server.client() as first, server.client() as client:
        first.connection.request("GET", f"{ROOT}/profile?debug=1")
        answer = (200, "")
        while answer[0] == 200:  # until the first has begun
            answer = client.text(f"{ROOT}/profile?seconds=0.01&debug=1")
        assert answer == (500, "Could not enable CPU profiling: cpu profiling already in use\n")


def test_unknown_profiles_and_users_are_turned_away(client: Client, new_server: Callable[..., Server]) -> None:
    assert client.text(f"{ROOT}/nope") == (404, "Unknown profile\n")
    assert client.text(f"{ROOT}/symbol") == (200, "num_symbols: 0\n")
    server = new_server("--authorization-mode=RBAC").start()
    with server.client("alice") as alice, server.client("admin", "system:masters") as admin:
        assert alice.call("GET", f"{ROOT}/cmdline")[0] == 403
        assert "--authorization-mode=RBAC" in admin.text(f"{ROOT}/cmdline")[1].split("\0")


def test_without_profiling_there_is_nothing(new_server: Callable[..., Server]) -> None:
    with new_server("--profiling=false").start().client() as client:
        assert client.text(f"{ROOT}/")[0] == 404
        assert client.text("/debug/flags/v")[0] == 404


def test_the_verbosity_can_be_changed(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    with server.client() as client:
        response = client.send("PUT", "/debug/flags/v", b"4")
        assert (response.status, response.read()) == (200, b"successfully set klog.logging.verbosity to 4")
        client.get("/api/v1/namespaces/default")
        server.logged("/api/v1/namespaces/default")
        response = client.send("PUT", "/debug/flags/v", b"loud")
        assert (response.status, b"invalid syntax" in response.read()) == (400, True)
        assert client.text("/debug/flags/v") == (406, "unsupported http method")
