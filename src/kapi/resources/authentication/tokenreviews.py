"""TokenReviews: whose is this token, and what for."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.errors import BadRequest, Unauthorized
from kapi.api.objects import Object
from kapi.authn.tokens import Tokens
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Resource, Virtual
from kapi.resources.authentication.user_info import user_info


def resource(tokens: Tokens) -> Resource:
    async def create(_: Call, review: Object, __: WriteOptions) -> Object:
        spec = review.get("spec") or {}
        if not spec.get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        try:
            found = await tokens.authenticate(spec["token"], tuple(spec.get("audiences") or ()))
        except Unauthorized as error:
            return {**review, "status": {"user": {}, "error": error.message}}
        status: Object = {"authenticated": True, "user": user_info(found.user)}
        if found.audiences:
            status["audiences"] = list(found.audiences)
        return {**review, "status": status}

    return Resource(group="authentication.k8s.io", version="v1", kind="TokenReview", virtual=Virtual(create=create))
