"""Jobs that are done go after their time, seen through the API of a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.controllers.world import Object, World, owner


def create_job(world: World, name: str, ttl: int | None) -> Object:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    spec: Object = {"template": template}
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    return world.create("jobs", {"metadata": {"name": name}, "spec": spec})


def finish(world: World, name: str, ago: timedelta) -> None:
    then = f"{datetime.now(UTC) - ago:%Y-%m-%dT%H:%M:%SZ}"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": then, "lastProbeTime": then}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": then, "completionTime": then, "succeeded": 1, "conditions": conditions}
    world.patch(f"jobs/{name}/status", {"status": status})


def test_a_job_goes_with_its_pods_when_its_time_has_passed(world: World) -> None:
    job = create_job(world, "short", 60)
    references = [owner(job, blocks=True, controls=True)]
    spec = {"containers": [{"name": "c", "image": "i"}]}
    world.create("pods", {"metadata": {"name": "p", "ownerReferences": references}, "spec": spec})
    create_job(world, "long", 3600)
    create_job(world, "stays", None)
    create_job(world, "runs", 0)
    for name in ("long", "stays", "short"):
        finish(world, name, timedelta(minutes=2))
    world.until_gone("jobs/short")
    assert not world.exists("pods/p")
    assert [name for name in ("long", "stays", "runs") if world.exists(f"jobs/{name}")] == ["long", "stays", "runs"]


def test_a_job_without_patience_goes_as_soon_as_it_is_done(world: World) -> None:
    create_job(world, "now", 0)
    finish(world, "now", timedelta(0))
    world.until_gone("jobs/now")
