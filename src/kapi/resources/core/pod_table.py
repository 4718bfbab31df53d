"""A pod as a row: what it is doing, in one word."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from kapi.api.objects import Object
from kapi.registry.table import AGE, NAME, Column, field_value, human_duration

_NONE = "<none>"


class Summary(NamedTuple):
    ready: str
    reason: str
    restarts: int
    last_restart: str  # when; empty if nobody knows


def summary(pod: Object) -> Summary:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    first = {c.get("name"): c for c in spec.get("initContainers") or ()}
    sidecars = {name for name, c in first.items() if c.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    reason = _phase_reason(status)
    begun = _initialization(status, sidecars, len(first))
    ready, restarts, last = begun.ready, begun.restarts, begun.last
    if not begun.reason or _is_true(status, "Initialized"):
        reason = begun.reason or reason
        running = _containers(status, reason)
        reason, ready = running.reason, ready + running.ready
        restarts = begun.sidecar_restarts + running.restarts
        last = max(begun.sidecar_last, running.last)
    else:
        reason = begun.reason
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    return Summary(f"{ready}/{total}", reason, restarts, last)


def _phase_reason(status: Object) -> str:
    reason: str = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    return reason


class _Initialization(NamedTuple):
    reason: str  # empty once it is over
    ready: int
    restarts: int
    last: str
    sidecar_restarts: int
    sidecar_last: str


def _initialization(status: Object, sidecars: set[str | None], count: int) -> _Initialization:
    reason, ready, restarts, last, sidecar_restarts, sidecar_last = "", 0, 0, "", 0, ""
    for i, container in enumerate(status.get("initContainerStatuses") or ()):
        state, is_sidecar = container.get("state") or {}, container.get("name") in sidecars
        restarts += container.get("restartCount", 0)
        last = max(last, _finished(container))
        if is_sidecar:
            sidecar_restarts += container.get("restartCount", 0)
            sidecar_last = max(sidecar_last, _finished(container))
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            reason = "Init:" + _end(ended)
        elif waiting and waiting != "PodInitializing":
            reason = f"Init:{waiting}"
        else:
            reason = f"Init:{i}/{count}"
        break
    return _Initialization(reason, ready, restarts, last, sidecar_restarts, sidecar_last)


class _Running(NamedTuple):
    reason: str
    ready: int
    restarts: int
    last: str


def _containers(status: Object, reason: str) -> _Running:
    ready, restarts, last, runs, failure = 0, 0, "", False, ""
    for container in reversed(status.get("containerStatuses") or []):
        state = container.get("state") or {}
        restarts += container.get("restartCount", 0)
        last = max(last, _finished(container))
        waiting, ended = (state.get("waiting") or {}).get("reason"), state.get("terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _end(ended)
            if ended.get("exitCode"):
                failure = reason
        elif container.get("ready") and state.get("running") is not None:
            runs = True
            ready += 1
    if reason == "Completed":
        if runs and _is_true(status, "Ready"):
            reason = "Running"
        elif failure:
            reason = failure
        elif runs:
            reason = "NotReady"
    return _Running(reason, ready, restarts, last)


def _end(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _finished(container: Object) -> str:
    """Timestamps of one form compare as text."""
    ended = (container.get("lastState") or {}).get("terminated") or {}
    return ended.get("finishedAt") or ""


def _is_true(status: Object, kind: str) -> bool:
    conditions = status.get("conditions") or ()
    return next((c.get("status") == "True" for c in conditions if c.get("type") == kind), False)


def _show_restarts(value: tuple[int, str], now: float) -> str:
    restarts, last = value
    if not restarts or not last:
        return str(restarts)
    ago = human_duration(now - datetime.fromisoformat(last).timestamp())
    return f"{restarts} ({ago} ago)"


def _address(pod: Object) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or _NONE


def _gates(pod: Object) -> str:
    gates = (pod.get("spec") or {}).get("readinessGates")
    if not gates:
        return _NONE
    status = pod.get("status") or {}
    return f"{sum(_is_true(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def row_conditions(pod: Object) -> list[Object]:
    """Pods that are over, so that who lists them can leave them out."""
    phase = (pod.get("status") or {}).get("phase")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


COLUMNS = (
    NAME,
    Column("Ready", lambda pod: summary(pod).ready, description="Containers that are ready, of how many."),
    Column("Status", lambda pod: summary(pod).reason, description="What the pod is doing, or why it does not."),
    Column(
        "Restarts",
        lambda pod: summary(pod)[2:],
        show=_show_restarts,
        description="How often its containers have restarted, and how long ago the last one did.",
    ),
    AGE,
    Column("IP", _address, priority=1, description="The pod's first address."),
    Column("Node", field_value("spec", "nodeName", absent=_NONE), priority=1, description="Where the pod runs."),
    Column(
        "Nominated Node",
        field_value("status", "nominatedNodeName", absent=_NONE),
        priority=1,
        description="Where it is expected to run once others have made room.",
    ),
    Column("Readiness Gates", _gates, priority=1, description="Conditions of its own that are true, of how many."),
)
