"""What probes and scrapes see."""

from __future__ import annotations

import pytest

from tests.server_process import Server


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_health_is_a_word_or_a_line_per_check(shared_server: Server, endpoint: str) -> None:
    with shared_server.client() as client:
        assert client.text(f"/{endpoint}") == (200, "ok")
        status, verbose = client.text(f"/{endpoint}?verbose")
        lines = verbose.splitlines()
        assert status == 200
        assert lines[:2] == ["[+]ping ok", "[+]log ok"]
        assert lines[-1] == f"{endpoint} check passed"
        assert "[+]etcd ok" in lines
        assert ("[+]shutdown ok" in lines) is (endpoint == "readyz")


def test_a_check_can_be_left_out_or_asked_alone(shared_server: Server) -> None:
    with shared_server.client() as client:
        assert "[+]etcd excluded: ok\n" in client.text("/readyz?verbose&exclude=etcd")[1]
        assert 'no matches for "nothing"' in client.text("/livez?verbose&exclude=nothing")[1]
        assert client.text("/livez/ping") == (200, "ok")
        assert client.text("/readyz/poststarthook/start-system-namespaces-controller") == (200, "ok")
        assert client.text("/livez/nothing")[0] == 404


def test_metrics_have_the_names_that_dashboards_ask_for(shared_server: Server) -> None:
    with shared_server.client() as client, shared_server.client() as watcher:
        client.get("/api/v1/namespaces/default")
        watcher.send("GET", "/api/v1/namespaces?watch=true")
        _, text = client.text("/metrics")
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    for name in (
        'apiserver_request_total{verb="GET",dry_run="",group="",version="v1",resource="namespaces",subresource="",'
        'scope="resource",component="apiserver",code="200"}',
        'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="namespaces",subresource="",'
        'scope="cluster",component="apiserver"}',
    ):
        assert float(samples[name]) >= 1
    names = {sample.partition("{")[0] for sample in samples}
    assert names >= {
        "apiserver_request_duration_seconds_bucket",
        "apiserver_request_duration_seconds_sum",
        "apiserver_response_sizes_bucket",
        "apiserver_current_inflight_requests",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_open_fds",
        "kubernetes_build_info",
        "authentication_attempts",
    }


def test_the_root_lists_what_is_served_and_the_rest_is_not_found(shared_server: Server) -> None:
    with shared_server.client() as client:
        paths = client.get("/")["paths"]
        assert {"/api", "/api/v1", "/apis", "/healthz", "/livez/ping", "/metrics", "/version"} <= set(paths)
        assert client.text("/nothing") == (404, "404 page not found\n")
        assert client.get("/version")["gitVersion"] == "v1.37.0"


def test_every_answer_has_an_audit_id(shared_server: Server) -> None:
    with shared_server.client() as client:
        first = client.send("GET", "/version")
        first.read()
        second = client.send("GET", "/version", audit_id="mine")
        second.read()
    assert len(first.headers["audit-id"]) == 36
    assert second.headers["audit-id"] == "mine"
