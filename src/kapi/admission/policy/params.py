"""Parameters of policies: the objects that a binding names or selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapi.admission.lookup import decoded, get_from, list_from
from kapi.admission.policy.source import Binding, Policy
from kapi.admission.versions import Versions
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object
from kapi.registry.store import Store

_CLUSTER = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NAMESPACE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NONE = "no params found for policy binding with `Deny` parameterNotFoundAction"


class Misconfigured(Exception):
    """A policy or a binding cannot be used; the text says why."""


def param_store(policy: Policy[Any], versions: Versions) -> Store | None:
    """Where the policy's parameters are; None for a policy without. Raises Misconfigured."""
    kind = policy.param_kind
    if kind is None:
        return None
    store = versions.store_of(kind)
    if store is None:
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{_shown(kind)}'")
    return store


def _shown(kind: GroupVersionKind) -> str:
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"


async def collect(store: Store | None, binding: Binding, namespace: str) -> Sequence[Object | None]:
    """The parameters to evaluate with, one by one; none when there are none and that is allowed."""
    reference = binding.spec.get("paramRef")
    if store is None or reference is None:
        return (None,)
    wanted = reference.get("namespace") or ""
    if store.resource.names.namespaced:
        namespace = wanted or namespace
        if not namespace:
            raise Misconfigured(_CLUSTER)
    elif wanted:
        raise Misconfigured(_NAMESPACE)
    found = await _found(store, reference, namespace if store.resource.names.namespaced else "")
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(_NONE)
    conversion = store.resource.conversion
    return found if conversion is None else [conversion.from_stored(obj) for obj in found]


async def _found(store: Store, reference: Object, namespace: str) -> list[Object]:
    if reference.get("name"):
        entry = await get_from(store, namespace, reference["name"])
        return [] if entry is None else [decoded(entry)]
    selector = selector_from_object(reference.get("selector") or {})
    return [decoded(entry) for entry in await list_from(store, namespace) if selector.matches(entry.labels)]
