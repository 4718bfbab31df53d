"""Whoever deletes what cannot be read must be allowed to do just that, besides being allowed to delete."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.admission.chain import Hook, validating
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.errors import Forbidden
from kapi.api.gvk import GroupResource
from kapi.registry.attributes import Attributes

_VERB = "unsafe-delete-ignore-read-errors"


class UnsafeDeleteAuthorization:
    """Not one of upstream's plugins, but asked where it asks."""

    name = "UnsafeDeleteAuthorization"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> Iterable[Hook]:
        return (validating(self._authorize, "UNSAFE_DELETE", at=None),)

    async def _authorize(self, attributes: Attributes) -> None:
        info = attributes.call.info
        verdict = await self._authorizer.authorize(attributes.call.user, info.with_verb(_VERB))
        if verdict.decision is not Decision.ALLOW:
            why = f'not permitted to do "{_VERB}", reason: {verdict.reason}'
            raise Forbidden(GroupResource(info.api_group, info.resource), info.name, why)
