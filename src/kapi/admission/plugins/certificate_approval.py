"""CertificateApproval: a signing request is approved only by who may approve for its signer."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.refusal import forbidden
from kapi.admission.resources import SIGNING_REQUESTS
from kapi.admission.services import Services
from kapi.admission.signers import may_act_as
from kapi.api.authorizer import Authorizer
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class CertificateApproval:
    name = "CertificateApproval"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "UPDATE", of=(SIGNING_REQUESTS,), at=("approval",)),)

    async def validate(self, attributes: Attributes) -> None:
        # The stored request's signer counts: this very update might try to change it.
        signer = (attributes.old_object or {}).get("spec", {}).get("signerName", "")
        if not await may_act_as(self._authorizer, attributes.call.user, "approve", signer):
            raise forbidden(attributes, f'user not permitted to approve requests with signerName "{signer}"')


def build(services: Services, _: Object | None) -> CertificateApproval:
    return CertificateApproval(services.authorizer)
