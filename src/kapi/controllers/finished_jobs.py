"""TTL after finished: a Job that is done goes, with its pods, when the time that it gave itself has passed."""

from __future__ import annotations

from datetime import datetime

from kapi.api import errors
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue

JOBS = GroupResource("batch", "jobs")
_TTL = b'"ttlSecondsAfterFinished":'


def start(context: Context) -> list[WorkQueue]:
    client, clock = context.client, context.clock

    async def reconcile(key: str) -> None:
        namespace, _, name = key.partition("/")
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        try:
            job = await client.get(path)
            due = _due(job)
            if due is None:
                return
            if due > clock.now():
                queue.add_after(key, due - clock.now())
                return
            await client.delete(path, _options(job))
        except errors.NotFound:
            return

    queue = WorkQueue(names.FINISHED_JOBS, reconcile)

    def changed(change: Change) -> None:
        if change.value is not None and _TTL in change.value:
            queue.add(change.path)

    context.informers.of(JOBS).listen(changed)
    return [queue]


def _options(job: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": job["metadata"]["uid"]},
    }


def _due(job: Object) -> float | None:
    """When it has to go; None for one that stays, is not done or is going already."""
    ttl = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if ttl is None or job["metadata"].get("deletionTimestamp"):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            finished = condition.get("lastTransitionTime")
            return datetime.fromisoformat(finished).timestamp() + float(ttl) if finished else None
    return None
