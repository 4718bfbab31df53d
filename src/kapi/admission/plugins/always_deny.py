"""AlwaysDeny: refuses every write."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.refusal import forbidden
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class AlwaysDeny:
    name = "AlwaysDeny"

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.deny, "CREATE", "UPDATE", "DELETE", "CONNECT", at=None),
            validating(self.deny, "CREATE", "UPDATE", "DELETE", "CONNECT", at=None),
        )

    def deny(self, attributes: Attributes) -> None:
        raise forbidden(attributes, "admission control is denying all modifications")


def build(_: Services, __: Object | None) -> AlwaysDeny:
    return AlwaysDeny()
