"""Resource quotas are counted, seen through the API of a real server."""

from __future__ import annotations

from collections.abc import Callable

from tests.controllers.test_garbage_collector import define
from tests.controllers.world import Object, World


def uses(**wanted: str) -> Callable[[Object | None], bool]:
    """Whether a quota says that so much is used; names have two underscores for a slash or a dot."""

    def condition(state: Object | None) -> bool:
        used = (state or {}).get("status", {}).get("used", {})
        return all(used.get(name.replace("__", "/").replace("_dot_", ".")) == amount for name, amount in wanted.items())

    return condition


def limit(world: World, **hard: str) -> None:
    names = {name.replace("__", "/").replace("_dot_", "."): amount for name, amount in hard.items()}
    world.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": names}})


def pod(name: str, cpu: str = "100m") -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def test_what_is_there_already_is_counted(world: World) -> None:
    world.create("pods", pod("a"))
    world.create("pods", pod("b", "1"))
    limit(world, pods="5", requests_dot_cpu="2", secrets="3")
    found = world.until("resourcequotas/q", uses(pods="2", requests_dot_cpu="1100m", secrets="0"))
    assert found is not None
    assert found["status"]["hard"] == {"pods": "5", "requests.cpu": "2", "secrets": "3"}


def test_use_goes_down_when_objects_go(world: World) -> None:
    limit(world, pods="1", count__configmaps="10")
    world.until("resourcequotas/q", uses(pods="0"))
    world.create("pods", pod("a"))
    assert world.client.call("POST", world.path("pods"), pod("b"))[0] == 403
    world.delete("pods/a")
    world.until("resourcequotas/q", uses(pods="0"))
    world.create("pods", pod("b"))


def test_a_pod_that_is_done_is_not_counted(world: World) -> None:
    limit(world, pods="1")
    world.until("resourcequotas/q", uses(pods="0"))
    world.create("pods", pod("a"))
    world.patch("pods/a/status", {"status": {"phase": "Succeeded"}})
    world.until("resourcequotas/q", uses(pods="0"))


def test_a_changed_quota_is_counted_anew(world: World) -> None:
    limit(world, pods="1")
    world.until("resourcequotas/q", uses(pods="0"))
    world.patch("resourcequotas/q", {"spec": {"hard": {"pods": None, "services": "2"}}})
    world.create("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    found = world.until("resourcequotas/q", uses(services="1"))
    assert found is not None
    assert found["status"]["used"] == {"services": "1"}


def test_scopes_choose_what_is_counted(world: World) -> None:
    world.create("pods", pod("burstable"))
    best_effort = pod("best-effort")
    del best_effort["spec"]["containers"][0]["resources"]
    world.create("pods", best_effort)
    spec = {"hard": {"pods": "9"}, "scopes": ["BestEffort"]}
    world.create("resourcequotas", {"metadata": {"name": "q"}, "spec": spec})
    world.until("resourcequotas/q", uses(pods="1"))


def test_custom_resources_are_counted(world: World) -> None:
    group = f"{world.namespace}.example.com"
    things = define(world, group)
    world.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {f"count/things.{group}": "1"}}})
    world.until("resourcequotas/q", lambda s: (s or {}).get("status", {}).get("used") == {f"count/things.{group}": "0"})
    world.create(things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}})
    assert world.get("resourcequotas/q")["status"]["used"] == {f"count/things.{group}": "1"}
    world.delete(f"{things}/a")
    world.until("resourcequotas/q", lambda s: (s or {})["status"]["used"] == {f"count/things.{group}": "0"})
