"""Bindings: the older way to give a pod its node, a resource of its own that is only ever created."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Action, Resource, Virtual
from kapi.registry.store import Store, Target
from kapi.resources.core.pod_binding import BINDING, bind


async def create(call: Call, store: Store, target: Target, binding: Object, options: WriteOptions) -> Object:
    """The name is the pod's; its uid is not asked for, as a new object has none."""
    binding["metadata"].pop("uid", None)
    pods = store.peers[GroupResource("", "pods")]
    pod = Target(namespace=target.namespace, name=binding["metadata"].get("name", ""))
    return await bind(call, pods, pod, binding, options)


RESOURCE = Resource(group="", version="v1", kind="Binding", virtual=Virtual(action=Action(gvk=BINDING, run=create)))
