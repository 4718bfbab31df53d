"""Whoever creates an object by an update or an apply must be allowed to create it, not only to change it."""

from __future__ import annotations

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.refusal import forbidden
from kapi.registry.attributes import Attributes, Operation


class CreateAuthorization:
    """Not one of upstream's plugins, but asked where it asks: before admission validates such a create."""

    name = "CreateAuthorization"
    operations: frozenset[Operation] = frozenset(("CREATE",))

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def mutate(self, attributes: Attributes) -> None:
        """Nothing to change."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.call.info.verb not in ("update", "patch"):
            return
        wanted = attributes.call.info.with_verb("create")
        verdict = await self._authorizer.authorize(attributes.call.user, wanted)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(attributes.call.user, wanted, verdict.reason)
