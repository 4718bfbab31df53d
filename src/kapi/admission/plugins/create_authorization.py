"""Whoever creates by another verb must be allowed to create: an object by an update or an apply, a process by a GET.

A WebSocket begins with a GET, so reading a pod's exec, attach or portforward subresource would run commands in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from kapi.admission.chain import Hook, validating
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.errors import Forbidden
from kapi.api.gvk import GroupResource
from kapi.api.refusal import forbidden
from kapi.registry.attributes import Attributes

_STREAMS = ("attach", "exec", "portforward")


class CreateAuthorization:
    """Not one of upstream's plugins, but asked where it asks: before admission validates such a create."""

    name = "CreateAuthorization"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> Iterable[Hook]:
        return (
            validating(self._validate, "CREATE", at=None),
            validating(self._validate_stream, "CONNECT", of=(("", "pods"),), at=_STREAMS),
        )

    def _validate_stream(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._authorize_stream(attributes) if attributes.call.info.verb != "create" else None

    async def _authorize_stream(self, attributes: Attributes) -> None:
        """As upstream, which says no more than the authorizer's reason."""
        info = attributes.call.info
        verdict = await self._authorizer.authorize(attributes.call.user, info.with_verb("create"))
        if verdict.decision is not Decision.ALLOW:
            raise Forbidden(GroupResource(info.api_group, info.resource), info.name, verdict.reason)

    def _validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._authorize(attributes) if attributes.call.info.verb in ("update", "patch") else None

    async def _authorize(self, attributes: Attributes) -> None:
        wanted = attributes.call.info.with_verb("create")
        verdict = await self._authorizer.authorize(attributes.call.user, wanted)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(attributes.call.user, wanted, verdict.reason)
