"""CertificateSigning: a certificate is issued only by who may sign for the request's signer."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.refusal import forbidden
from kapi.admission.resources import SIGNING_REQUESTS
from kapi.admission.services import Services
from kapi.admission.signers import may_act_as
from kapi.api.authorizer import Authorizer
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class CertificateSigning:
    name = "CertificateSigning"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "UPDATE", of=(SIGNING_REQUESTS,), at=("status",)),)

    async def validate(self, attributes: Attributes) -> None:
        old = attributes.old_object or {}
        if _outcome(old) == _outcome(attributes.object or {}):
            return
        signer = old.get("spec", {}).get("signerName", "")
        if not await may_act_as(self._authorizer, attributes.call.user, "sign", signer):
            raise forbidden(attributes, f'user not permitted to sign requests with signerName "{signer}"')


def _outcome(request: Object) -> tuple[object, object]:
    status = request.get("status") or {}
    return status.get("certificate") or None, status.get("conditions") or None


def build(services: Services, _: Object | None) -> CertificateSigning:
    return CertificateSigning(services.authorizer)
