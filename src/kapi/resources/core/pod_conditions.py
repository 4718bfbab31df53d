"""Conditions that the server itself sets on pods."""

from __future__ import annotations

from kapi.api.objects import Object


def set_condition(status: Object, condition: Object, now: str) -> None:
    """Add a condition, or replace that of its type; its transition time is kept while its status is."""
    fresh = {**condition, "lastProbeTime": None, "lastTransitionTime": now}
    conditions = status.setdefault("conditions", [])
    for i, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            if known.get("status") == condition["status"]:
                fresh["lastTransitionTime"] = known.get("lastTransitionTime")
            conditions[i] = fresh
            return
    conditions.append(fresh)


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
