"""DenyServiceExternalIPs: no service claims addresses of the outside that it had not before."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.refusal import forbidden
from kapi.admission.resources import SERVICES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class DenyServiceExternalIPs:
    name = "DenyServiceExternalIPs"

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", of=(SERVICES,)),)

    def validate(self, attributes: Attributes) -> None:
        if not _addresses(attributes.object) <= _addresses(attributes.old_object):
            raise forbidden(attributes, "Use of external IPs is denied by admission control")


def _addresses(service: Object | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("externalIPs") or ())


def build(_: Services, __: Object | None) -> DenyServiceExternalIPs:
    return DenyServiceExternalIPs()
