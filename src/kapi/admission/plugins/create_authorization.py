"""Whoever creates an object by an update or an apply must be allowed to create it, not only to change it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from kapi.admission.chain import Hook, validating
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.refusal import forbidden
from kapi.registry.attributes import Attributes


class CreateAuthorization:
    """Not one of upstream's plugins, but asked where it asks: before admission validates such a create."""

    name = "CreateAuthorization"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> Iterable[Hook]:
        return (validating(self._validate, "CREATE", at=None),)

    def _validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._authorize(attributes) if attributes.call.info.verb in ("update", "patch") else None

    async def _authorize(self, attributes: Attributes) -> None:
        wanted = attributes.call.info.with_verb("create")
        verdict = await self._authorizer.authorize(attributes.call.user, wanted)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(attributes.call.user, wanted, verdict.reason)
