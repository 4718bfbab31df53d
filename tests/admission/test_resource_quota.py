from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.server_process import Server


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def pod(name: str, **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_of_fifty_creates_at_once_exactly_as_many_succeed_as_fit(shared_server: Server, place: Any) -> None:
    place.quota("q", {"count/configmaps": "10"})

    def create(i: int) -> int:
        with shared_server.client() as client:
            status, _ = client.call("POST", place.path("configmaps"), config_map(f"c{i}"))
            return int(status)

    with ThreadPoolExecutor(10) as pool:
        statuses = sorted(pool.map(create, range(50)))
    assert statuses == [201] * 10 + [403] * 40
    assert place.used("q") == {"count/configmaps": "10"}


def test_a_write_must_fit_into_every_quota(place: Any) -> None:
    place.quota("wide", {"configmaps": "5"})
    place.quota("narrow", {"count/configmaps": "0"})
    message = place.refusal("configmaps", config_map("a"))
    assert message.endswith(
        "exceeded quota: narrow, requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0"
    )
    assert place.used("wide") == {"configmaps": "0"}


def test_a_dry_run_is_checked_but_not_charged(place: Any) -> None:
    place.quota("q", {"configmaps": "1"})
    for _ in range(2):
        place.made("configmaps?dryRun=All", config_map("a"))
    assert place.used("q") == {"configmaps": "0"}


def test_compute_that_is_counted_must_be_named_by_every_container(place: Any) -> None:
    place.quota("c", {"requests.cpu": "1", "limits.memory": "1Gi"})
    message = place.refusal("pods", pod("p"))
    assert message == 'pods "p" is forbidden: failed quota: c: must specify limits.memory for: c; requests.cpu for: c'
    place.made("pods", pod("p", requests={"cpu": "600m"}, limits={"memory": "512Mi"}))
    message = place.refusal("pods", pod("q", requests={"cpu": "600m"}, limits={"memory": "1Mi"}))
    assert "requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1" in message


def test_a_scoped_quota_counts_only_what_is_in_its_scope(place: Any) -> None:
    place.quota("be", {"pods": "0"}, scopes=["BestEffort"])
    assert "exceeded quota: be" in place.refusal("pods", pod("p"))
    place.made("pods", pod("p", requests={"cpu": "1m"}))


def test_a_service_that_changes_its_type_is_charged_for_what_it_takes_more(place: Any) -> None:
    place.quota("s", {"services": "1", "services.nodeports": "0"})
    spec = {"ports": [{"port": 80}]}
    place.made("services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    patch = {"content-type": "application/merge-patch+json"}
    status, answer = place.client.call("PATCH", place.path("services/s"), {"spec": {"type": "NodePort"}}, **patch)
    assert (status, answer["message"].partition(": ")[2]) == (
        403,
        "exceeded quota: s, requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0",
    )
    assert place.used("s") == {"services": "1", "services.nodeports": "0"}


def test_nothing_is_created_while_the_use_of_a_quota_is_unknown(place: Any) -> None:
    hard = {"configmaps": "1"}
    body: Any = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    place.made("resourcequotas", body)
    body["status"] = {"hard": hard}
    place.client.call("PUT", place.path("resourcequotas/q/status"), body)
    assert place.refusal("configmaps", config_map("a")).endswith("status unknown for quota: q, resources: configmaps")
