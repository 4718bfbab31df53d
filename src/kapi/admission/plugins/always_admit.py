"""AlwaysAdmit: admits everything, as no plugin at all would. Kept for command lines that name it."""

from __future__ import annotations

from kapi.admission.chain import Hook
from kapi.admission.services import Services
from kapi.api.objects import Object


class AlwaysAdmit:
    name = "AlwaysAdmit"

    def hooks(self) -> tuple[Hook, ...]:
        return ()


def build(_: Services, __: Object | None) -> AlwaysAdmit:
    return AlwaysAdmit()
