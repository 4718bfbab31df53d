"""The legacy format: an event as one line of text, with a part of what it says."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from kapi.api.fields import go_quote


def event_text(event: bytes) -> str:
    """As upstream's EventString."""
    said = orjson.loads(event)
    user, other = said["user"], said.get("impersonatedUser")
    groups = user.get("groups") if user.get("username") else None
    other_groups = other.get("groups") if other is not None else None
    response = said.get("responseStatus")
    quoted = {
        "id": said["auditID"],
        "stage": said["stage"],
        "ip": (said.get("sourceIPs") or ["<unknown>"])[0],
        "method": said["verb"],
        "user": user.get("username") or "<none>",
        "groups": _quoted(groups) if groups else "<none>",
        "as": other.get("username", "") if other is not None else "<self>",
        "asgroups": _quoted(other_groups) if other_groups else "<lookup>",
        "user-agent": said.get("userAgent", ""),
        "namespace": said.get("objectRef", {}).get("namespace") or "<none>",
        "uri": said["requestURI"],
        "response": str(response.get("code", 0)) if response is not None else "<deferred>",
    }
    fields = " ".join(f"{name}={go_quote(value)}" for name, value in quoted.items())
    return f"{_nano(said['requestReceivedTimestamp'])} AUDIT: {fields}"


def _quoted(texts: Sequence[str]) -> str:
    return ",".join(map(go_quote, texts))


def _nano(micro_time: str) -> str:
    """As RFC3339Nano: without the fraction's last zeros."""
    return micro_time[:-1].rstrip("0").rstrip(".") + "Z"
