"""ClusterTrustBundleAttest: a signer's trust bundle is written only by who may attest for the signer."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.refusal import forbidden
from kapi.admission.resources import CLUSTER_TRUST_BUNDLES
from kapi.admission.services import Services
from kapi.admission.signers import may_act_as
from kapi.api.authorizer import Authorizer
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

# What the garbage collector changes by itself.
_COLLECTED = ("ownerReferences", "finalizers", "managedFields")


class ClusterTrustBundleAttest:
    name = "ClusterTrustBundleAttest"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", of=(CLUSTER_TRUST_BUNDLES,), at=None),)

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object or {}, attributes.old_object
        signer = new.get("spec", {}).get("signerName", "")
        if not signer or (old is not None and _meaning(new) == _meaning(old)):
            return
        if not await may_act_as(self._authorizer, attributes.call.user, "attest", signer):
            raise forbidden(attributes, f'user not permitted to attest for signerName "{signer}"')


def _meaning(bundle: Object) -> Object:
    metadata = {k: v for k, v in bundle["metadata"].items() if k not in _COLLECTED and k != "resourceVersion"}
    return {**bundle, "metadata": metadata}


def build(services: Services, _: Object | None) -> ClusterTrustBundleAttest:
    return ClusterTrustBundleAttest(services.authorizer)
