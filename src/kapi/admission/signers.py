"""Who may approve, sign or attest in a signer's name."""

from __future__ import annotations

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.request_info import RequestInfo
from kapi.api.user import User


async def may_act_as(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """For the signer by name, or for all signers of its domain."""
    domain = signer.partition("/")[0]
    for name in (signer, f"{domain}/*"):
        wanted = RequestInfo("", verb)
        wanted.is_resource_request = True
        wanted.api_group, wanted.api_version, wanted.resource, wanted.name = "certificates.k8s.io", "*", "signers", name
        if (await authorizer.authorize(user, wanted)).decision is Decision.ALLOW:
            return True
    return False
