"""ServiceAccounts: identities for what runs in pods."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME

_ENFORCES = "kubernetes.io/enforce-mountable-secrets"


def prepare_for_create(_: Call, new: Object) -> None:
    """Secrets are named, and nothing else: they are the namespace's."""
    if new.get("secrets"):
        new["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in new["secrets"]]


def prepare_for_update(call: Call, new: Object, _: Object) -> None:
    prepare_for_create(call, new)


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if _ENFORCES not in _annotations(new) or (old is not None and _ENFORCES in _annotations(old)):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_ENFORCES}]: {why}"]


def _annotations(account: Object) -> Object:
    annotations: Object = account["metadata"].get("annotations") or {}
    return annotations


RESOURCE = Resource(
    group="",
    version="v1",
    kind="ServiceAccount",
    strategy=Strategy(prepare_for_create=prepare_for_create, prepare_for_update=prepare_for_update, warnings=warnings),
    columns=(NAME, AGE),
    returns_deleted=True,
)
