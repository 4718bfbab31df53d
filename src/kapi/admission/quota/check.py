"""Whether a write fits into a namespace's quotas, and what they have used up after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kapi.admission.lookup import decoded
from kapi.admission.quota.amounts import Amounts, beyond, only, parsed, shown, total
from kapi.admission.quota.evaluators import Evaluator
from kapi.admission.quota.scopes import selectors_of
from kapi.admission.refusal import Failed, forbidden
from kapi.api.objects import Object, Revision
from kapi.registry.attributes import Attributes
from kapi.storage.cacher.entry import Entry

Used: TypeAlias = Mapping[str, Amounts]  # by quota


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota at one revision, read once."""

    name: str
    revision: Revision
    hard: Amounts
    used: Amounts
    scopes: Sequence[Object]

    @classmethod
    def of(cls, entry: Entry) -> Quota:
        quota = decoded(entry)
        status = quota.get("status") or {}
        return cls(
            name=quota["metadata"]["name"],
            revision=entry.revision,
            hard=parsed(status.get("hard")),
            used=parsed(status.get("used")),
            scopes=selectors_of(quota),
        )


class Limited:
    """What may be used only where a quota covers it, by the plugin's configuration."""

    def __init__(self, configured: Sequence[Object] = ()) -> None:
        self._configured = configured

    def __bool__(self) -> bool:
        return bool(self._configured)

    def names(self, attributes: Attributes, usage: Amounts) -> set[str]:
        return {
            name
            for item in self._of(attributes)
            for name, amount in usage.items()
            if amount.sign > 0 and any(part in name for part in item.get("matchContains") or ())
        }

    def scopes(self, evaluator: Evaluator, found: Object) -> list[Object]:
        selectors = [s for item in self._configured for s in item.get("matchScopes") or ()]
        return [s for s in selectors if evaluator.scoped and evaluator.in_scope(s, found)]

    def _of(self, attributes: Attributes) -> Iterable[Object]:
        wanted = attributes.resource.group_resource
        return (i for i in self._configured if (i.get("apiGroup") or "", i.get("resource")) == wanted)


def check(
    quotas: Sequence[Quota], used: Used, attributes: Attributes, evaluator: Evaluator, limited: Limited
) -> dict[str, Amounts]:
    """What changes of what is used, by quota; raises the refusal of a write that does not fit."""
    found = attributes.object or {}
    concerned = [quota for quota in quotas if _concerns(quota, attributes, evaluator)]
    usage = evaluator.usage(found)
    negative = sorted(name for name, amount in usage.items() if amount.sign < 0)
    if negative:
        raise forbidden(attributes, f"quota usage is negative for resource(s): {','.join(negative)}")
    charges = {quota.name: _charge(quota, attributes, evaluator, usage) for quota in concerned}
    if concerned and not any(charges.values()):
        return {}
    if limited:
        _check_covered(quotas, concerned, attributes, evaluator, limited)
    return {
        quota.name: _charged(quota, used[quota.name], requested, attributes)
        for quota in concerned
        if (requested := only(charges[quota.name], quota.hard))
    }


def _concerns(quota: Quota, attributes: Attributes, evaluator: Evaluator) -> bool:
    """Whether it counts this object. It must know what is used already, and the object what it wants."""
    found = attributes.object or {}
    names = evaluator.names(quota.hard)
    if not names or not all(evaluator.in_scope(selector, found) for selector in quota.scopes):
        return False
    missing = evaluator.missing(names, found)
    if missing is not None:
        raise forbidden(attributes, f"failed quota: {quota.name}: {missing}")
    if not all(name in quota.used for name in names):
        raise forbidden(attributes, f"status unknown for quota: {quota.name}, resources: {','.join(sorted(names))}")
    return True


def _charge(quota: Quota, attributes: Attributes, evaluator: Evaluator, usage: Amounts) -> Amounts:
    """What an object uses of a quota that it did not use before."""
    old = attributes.old_object
    if attributes.operation == "UPDATE" and old is not None:
        former = evaluator.names(quota.hard) and all(evaluator.in_scope(s, old) for s in quota.scopes)
        if former:
            usage = beyond(usage, evaluator.usage(old))
    return {name: amount for name, amount in usage.items() if amount}


def _charged(quota: Quota, used: Amounts, requested: Amounts, attributes: Attributes) -> Amounts:
    after = total(used, requested)
    exceeded = [name for name in requested if after[name] > quota.hard[name]]
    # A status is reported, not asked for: it is counted, whatever it says.
    if exceeded and attributes.subresource != "status":
        raise forbidden(
            attributes,
            f"exceeded quota: {quota.name}, requested: {shown(only(requested, exceeded))}, used: "
            f"{shown(only(used, exceeded))}, limited: {shown(only(quota.hard, exceeded))}",
        )
    return after


def _check_covered(
    quotas: Sequence[Quota],
    concerned: Sequence[Quota],
    attributes: Attributes,
    evaluator: Evaluator,
    limited: Limited,
) -> None:
    found = attributes.object or {}
    covered = {name for quota in concerned for name in evaluator.names(quota.hard)}
    open_names = limited.names(attributes, evaluator.usage(found)) - covered
    if open_names:
        raise forbidden(attributes, f"insufficient quota to consume: {','.join(sorted(open_names))}")
    taken = {s["scopeName"] for q in quotas for s in q.scopes if evaluator.scoped and evaluator.in_scope(s, found)}
    open_scopes = [s for s in limited.scopes(evaluator, found) if s["scopeName"] not in taken]
    if open_scopes:
        shown_scopes = " ".join(_go_scope(scope) for scope in open_scopes)
        raise Failed(f"insufficient quota to match these scopes: [{shown_scopes}]")


def _go_scope(selector: Object) -> str:
    return f"{{{selector['scopeName']} {selector.get('operator', '')} [{' '.join(selector.get('values') or ())}]}}"
