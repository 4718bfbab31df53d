"""SelfSubjectReviews: who am I to this server."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Resource, Virtual
from kapi.resources.authentication.user_info import user_info


def resource(clock: Clock) -> Resource:
    async def create(call: Call, _: Object, __: WriteOptions) -> Object:
        return {
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": rfc3339(clock.now())},
            "status": {"userInfo": user_info(call.user)},
        }

    return Resource(
        group="authentication.k8s.io", version="v1", kind="SelfSubjectReview", virtual=Virtual(create=create)
    )
