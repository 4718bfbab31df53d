"""CertificateSubjectRestriction: nobody is made a member of system:masters by a certificate."""

from __future__ import annotations

import base64

from kapi.admission.chain import Hook, validating
from kapi.admission.refusal import forbidden
from kapi.admission.resources import SIGNING_REQUESTS
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP
from kapi.registry.attributes import Attributes

_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction:
    name = "CertificateSubjectRestriction"

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", of=(SIGNING_REQUESTS,)),)

    def validate(self, attributes: Attributes) -> None:
        spec = (attributes.object or {}).get("spec", {})
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        try:
            organizations = _organizations(base64.b64decode(spec.get("request") or ""))
        except ValueError as error:
            raise forbidden(attributes, f"failed to parse CSR: {error}") from None
        if SYSTEM_PRIVILEGED_GROUP in organizations:
            why = f"use of {_CLIENT_SIGNER} signer with {SYSTEM_PRIVILEGED_GROUP} group is not allowed"
            raise forbidden(attributes, why)


def _organizations(request: bytes) -> list[str]:
    from cryptography import x509  # slow to import
    from cryptography.x509.oid import NameOID

    subject = x509.load_pem_x509_csr(request).subject
    return [str(found.value) for found in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def build(_: Services, __: Object | None) -> CertificateSubjectRestriction:
    return CertificateSubjectRestriction()
