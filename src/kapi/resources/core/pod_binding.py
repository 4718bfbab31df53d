"""Binding: a pod is given its node."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.gvk import GroupResource, GroupVersionKind
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Action
from kapi.registry.store import Store, Target
from kapi.registry.translate import storage_errors
from kapi.resources.core.pod_conditions import set_condition
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Decision, Write

BINDING = GroupVersionKind("", "v1", "Binding")
_PODS, _BINDINGS = GroupResource("", "pods"), GroupResource("", "pods/binding")
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def validate_binding(binding: Object) -> list[FieldError]:
    target = binding.get("target") or {}
    kind, name = target.get("kind") or "", target.get("name") or ""
    found: list[FieldError] = []
    if kind not in ("", "Node"):
        found.append(not_supported("target.kind", kind, ("Node", "<empty>"), in_order=True))
    if not name:
        found.append(required("target.name"))
    elif kind in ("", "Node"):
        found += [invalid("target.name", name, e) for e in dns_subdomain(name)]
    return found


async def bind(call: Call, store: Store, target: Target, binding: Object, options: WriteOptions) -> Object:
    """`store` is the pods'."""
    if binding["metadata"].get("name", "") != target.name:
        raise errors.BadRequest("name in URL does not match name in Binding object")
    found = validate_binding(binding)
    if found:
        # As upstream, which takes these for its own failure.
        texts = list(dict.fromkeys(map(str, found)))
        raise errors.APIError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    if not target.name:
        raise errors.BadRequest("Name parameter required.")
    key = store.key(target.namespace, target.name)

    async def change(entry: Entry | None) -> Decision:
        assert entry is not None, "only what is there is changed"
        pod = entry.object
        _check_preconditions(pod, binding["metadata"], store.shown_key(target, options))
        _check_unassigned(pod)
        _assign(pod, binding, rfc3339(store.clock.now()))
        return Write(store.objects.encode(pod))

    with storage_errors(_PODS, target.name):
        if options.dry_run:
            current = await store.get(target.namespace, target.name)
            await change(current)
        else:
            await store.objects.update(key, change)
    return SUCCESS


def _check_preconditions(pod: Object, wanted: Object, key: str) -> None:
    metadata = pod["metadata"]
    for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        value, found = wanted.get(field), metadata.get(field)
        if value and value != found:
            why = (
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: {shown} in precondition: {value}, {shown} in object meta: {found}"
            )
            raise errors.Conflict(_PODS, metadata["name"], why)


def _check_unassigned(pod: Object) -> None:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if pod["metadata"].get("deletionTimestamp"):
        raise errors.Conflict(_BINDINGS, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise errors.Conflict(_BINDINGS, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise errors.Conflict(_BINDINGS, name, f"pod {name} has non-empty .spec.schedulingGates")


def _assign(pod: Object, binding: Object, now: str) -> None:
    pod["spec"]["nodeName"] = binding["target"]["name"]
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    for field in ("annotations", "labels"):
        given = binding["metadata"].get(field)
        if given:
            pod["metadata"].setdefault(field, {}).update(given)
    set_condition(status, {"type": "PodScheduled", "status": "True"}, now)


ACTION = Action(gvk=BINDING, run=bind)
