"""Tolerations: which of them cover others, and how two lists become one."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.objects import Object

_FIELDS = ("key", "operator", "value", "effect")


def add_toleration(spec: Object, toleration: Object) -> None:
    """To a pod's, instead of one that differs from it in its seconds alone."""
    listed: list[Object] = spec.get("tolerations") or []
    kept = [dict(toleration) if _alike(t, toleration) else t for t in listed]
    spec["tolerations"] = kept if any(_alike(t, toleration) for t in listed) else [*kept, dict(toleration)]


def _alike(one: Object, other: Object) -> bool:
    return all((one.get(field) or "") == (other.get(field) or "") for field in _FIELDS)


def _same(one: Object, other: Object) -> bool:
    return _alike(one, other) and one.get("tolerationSeconds") == other.get("tolerationSeconds")


def merged(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Both, without those that another one covers."""
    everything = [*first, *second]
    kept: list[Object] = []
    for i, toleration in enumerate(everything):
        if any(covers(other, toleration) for other in kept):
            continue
        if any(not _same(toleration, other) and covers(other, toleration) for other in everything[i + 1 :]):
            continue
        kept.append(toleration)
    return kept


def allowed(tolerations: Sequence[Object], whitelist: Sequence[Object]) -> bool:
    """Whether each is covered by one that is listed; an empty list allows all."""
    return not whitelist or all(any(covers(w, t) for w in whitelist) for t in tolerations)


def covers(wide: Object, narrow: Object) -> bool:
    """Whether the first tolerates all that the second does."""
    if _same(wide, narrow):
        return True
    key, operator, effect = (wide.get(field) or "" for field in ("key", "operator", "effect"))
    if (narrow.get("key") or "") != key and (key or operator != "Exists"):
        return False
    if (narrow.get("effect") or "") != effect and effect:
        return False
    if effect == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if operator == "Exists":
        return True
    return (
        operator in ("", "Equal")
        and narrow.get("operator") == "Equal"
        and (narrow.get("value") or "") == (wide.get("value") or "")
    )
