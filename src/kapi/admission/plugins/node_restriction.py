"""NodeRestriction: a node writes only itself, its own pods and what they need.

The Node authorizer decides by what a request names; what it would write is judged here.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from kapi.admission.chain import Hook, mutating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.node.labels import forbidden_changes
from kapi.admission.node.mirror_pods import MIRROR, owner_problem, referenced
from kapi.admission.node.tokens import NodeTokens
from kapi.admission.refusal import forbidden
from kapi.admission.resources import (
    CSI_NODES,
    LEASES,
    LISTED_NODE,
    LISTED_POD,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_CERTIFICATE_REQUESTS,
    PODS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    SIGNING_REQUESTS,
)
from kapi.admission.services import Services
from kapi.api.authorizer import Authorizer
from kapi.api.errors import Forbidden, NotFound
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_PREFIX, _GROUP = "system:node:", "system:nodes"
_NODE_LEASES = "kube-node-lease"
_NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
# What a node's volumes tell of a claim.
_CLAIM_STATUS = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")
_CLAIM_STATUSES = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses")


class NodeRestriction:
    name = "NodeRestriction"

    def __init__(self, lookup: Lookup, authorizer: Authorizer) -> None:
        self._lookup = lookup
        self._tokens = NodeTokens(lookup, authorizer)
        self._rules: dict[GroupResource, Callable[[Attributes, str], Awaitable[None] | None]] = {
            PODS: self._pod,
            NODES: _node,
            PERSISTENT_VOLUME_CLAIMS: _claim,
            SERVICE_ACCOUNTS: self._account,
            POD_CERTIFICATE_REQUESTS: self._certificate,
            LEASES: _lease,
            CSI_NODES: _csi_node,
            RESOURCE_SLICES: _slice,
            SIGNING_REQUESTS: _signing_request,
        }

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.check, "CREATE", "UPDATE", "DELETE", of=self._rules, at=None),)

    def check(self, attributes: Attributes) -> Awaitable[None] | None:
        user = attributes.call.user
        if not user.name.startswith(_PREFIX) or _GROUP not in user.groups:
            return None
        node = user.name.removeprefix(_PREFIX)
        if not node:
            raise forbidden(attributes, f'could not determine node from user "{user.name}"')
        return self._rules[attributes.resource.group_resource](attributes, node)

    def _pod(self, attributes: Attributes, node: str) -> Awaitable[None] | None:
        match attributes.subresource:
            case "":
                return self._whole_pod(attributes, node)
            case "status":
                _pod_status(attributes, node)
                return None
            case "eviction":
                return self._eviction(attributes, node)
        what = f'unexpected pod subresource "{attributes.subresource}"'
        raise forbidden(attributes, f"{what}, only 'status' and 'eviction' are allowed")

    def _whole_pod(self, attributes: Attributes, node: str) -> Awaitable[None] | None:
        if attributes.operation == "CREATE":
            return self._mirror_pod(attributes, node)
        if attributes.operation == "DELETE":
            if (attributes.old_object or {})["spec"].get("nodeName") != node:
                why = f'node "{node}" can only delete pods with spec.nodeName set to itself'
                raise forbidden(attributes, why)
            return None
        what = f'unexpected operation "{attributes.operation}"'
        raise forbidden(attributes, f'{what}, node "{node}" can only create and delete mirror pods')

    async def _mirror_pod(self, attributes: Attributes, node: str) -> None:
        pod = attributes.object or {}
        if MIRROR not in (pod["metadata"].get("annotations") or {}):
            why = f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
            raise forbidden(attributes, why)
        if pod["spec"].get("nodeName") != node:
            raise forbidden(attributes, f'node "{node}" can only create pods with spec.nodeName set to itself')
        problem = owner_problem(pod, node)
        if problem is not None:
            raise forbidden(attributes, problem)
        entry = await self._lookup.get(NODES, "", node)
        if entry is None:
            raise NotFound(LISTED_NODE, node)
        named, uid = pod["metadata"]["ownerReferences"][0].get("uid", ""), decoded(entry)["metadata"].get("uid", "")
        if named != uid:
            raise forbidden(attributes, f"node {node} UID mismatch: expected {named} got {uid}")
        what = referenced(pod["spec"])
        if what is not None:
            raise forbidden(attributes, f'node "{node}" can not create pods that reference {what}')

    async def _eviction(self, attributes: Attributes, node: str) -> None:
        name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name", "")
        if not name:
            raise forbidden(attributes, "could not determine pod from request data")
        entry = await self._lookup.get(PODS, attributes.namespace, name)
        if entry is None:
            raise NotFound(LISTED_POD, name)
        if decoded(entry)["spec"].get("nodeName") != node:
            raise forbidden(attributes, f"node {node} can only evict pods with spec.nodeName set to itself")

    def _account(self, attributes: Attributes, node: str) -> Awaitable[None] | None:
        if attributes.operation != "CREATE" or attributes.subresource != "token":
            return None
        return self._tokens.check_token(attributes, node)

    def _certificate(self, attributes: Attributes, node: str) -> Awaitable[None]:
        if attributes.operation != "CREATE":
            raise forbidden(attributes, f"unexpected operation {attributes.operation}")
        if attributes.subresource:
            raise forbidden(attributes, f"unexpected subresource {attributes.subresource}")
        return self._tokens.check_certificate(attributes, node)


def _pod_status(attributes: Attributes, node: str) -> None:
    new, old = attributes.object or {}, attributes.old_object or {}
    who = f'node "{node}"'
    if old["spec"].get("nodeName") != node:
        why = f"{who} can only update pod status for pods with spec.nodeName set to itself"
        raise forbidden(attributes, why)
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise forbidden(attributes, f"{who} cannot update labels through pod status")
    changed = [f for f in _CLAIM_STATUSES if (_status(new).get(f) or None) != (_status(old).get(f) or None)]
    shown = ("resource claim statues", "extended resource claim status", "node allocatable resource claim statuses")
    if changed:
        raise forbidden(attributes, f"{who} cannot update {shown[_CLAIM_STATUSES.index(changed[0])]}")


def _status(found: Object) -> Object:
    return found.get("status") or {}


def _node(attributes: Attributes, node: str) -> None:
    if attributes.name != node:
        raise forbidden(attributes, f'node "{node}" is not allowed to modify node "{attributes.name}"')
    if attributes.operation == "DELETE":
        return
    new, old = attributes.object or {}, attributes.old_object
    labels = new["metadata"].get("labels") or {}
    who, source = f'node "{node}"', (new.get("spec") or {}).get("configSource")
    if old is None:
        if source is not None:
            raise forbidden(attributes, f"{who} is not allowed to create pods with a non-nil configSource")
        wrong = forbidden_changes(labels, {})
        if wrong:
            raise forbidden(attributes, f"{who} is not allowed to set the following labels: {', '.join(wrong)}")
        return
    former = old.get("spec") or {}
    if source is not None and source != former.get("configSource"):
        raise forbidden(attributes, f"{who} is not allowed to update configSource to a new non-nil configSource")
    if ((new.get("spec") or {}).get("taints") or []) != (former.get("taints") or []):
        raise forbidden(attributes, f"{who} is not allowed to modify taints")
    if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        raise forbidden(attributes, f"{who} is not allowed to modify ownerReferences")
    wrong = forbidden_changes(labels, old["metadata"].get("labels") or {})
    if wrong:
        raise forbidden(attributes, f"is not allowed to modify labels: {', '.join(wrong)}")


def _claim(attributes: Attributes, node: str) -> None:
    if attributes.subresource != "status":
        raise forbidden(attributes, "may only update PVC status")
    if attributes.operation != "UPDATE":
        raise forbidden(attributes, f'unexpected operation "{attributes.operation}"')
    if _beyond_volumes(attributes.object or {}) != _beyond_volumes(attributes.old_object or {}):
        what = "is not allowed to update fields other than status.quantity and status.conditions"
        raise forbidden(attributes, f'node "{node}" {what}')


def _beyond_volumes(claim: Object) -> Object:
    """What of a claim is none of a node's business."""
    metadata = {k: v for k, v in claim["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    status = {k: v for k, v in _status(claim).items() if k not in _CLAIM_STATUS}
    return {**claim, "metadata": metadata, "status": status}


def _name(attributes: Attributes) -> str:
    name: str = (attributes.object or {})["metadata"].get("name", "")
    return name if attributes.operation == "CREATE" else attributes.name


def _lease(attributes: Attributes, node: str) -> None:
    if attributes.namespace != _NODE_LEASES:
        raise forbidden(attributes, f'can only access leases in the "{_NODE_LEASES}" system namespace')
    if _name(attributes) != node:
        raise forbidden(attributes, "can only access node lease with the same name as the requesting node")


def _csi_node(attributes: Attributes, node: str) -> None:
    if _name(attributes) != node:
        raise forbidden(attributes, "can only access CSINode with the same name as the requesting node")


def _slice(attributes: Attributes, node: str) -> None:
    if attributes.operation == "UPDATE":
        return
    found = (attributes.object if attributes.operation == "CREATE" else attributes.old_object) or {}
    if found.get("spec", {}).get("nodeName") != node:
        verb = attributes.operation.lower()
        raise forbidden(attributes, f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _signing_request(attributes: Attributes, node: str) -> None:
    """A node asks for certificates in its own name."""
    spec = (attributes.object or {}).get("spec") or {}
    if attributes.operation != "CREATE" or spec.get("signerName") not in _NODE_SIGNERS:
        return
    from cryptography import x509  # slow to import
    from cryptography.x509.oid import NameOID

    try:
        request = x509.load_pem_x509_csr(base64.b64decode(spec.get("request") or ""))
    except ValueError as error:
        raise _unparsed(attributes, error) from None
    names = [str(found.value) for found in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if names != [f"{_PREFIX}{node}"]:
        raise forbidden(attributes, f"can only create a node CSR with CN={_PREFIX}{node}")


def _unparsed(attributes: Attributes, error: ValueError) -> Forbidden:
    return forbidden(attributes, f"unable to parse csr: {error}")


def build(services: Services, _: Object | None) -> NodeRestriction:
    return NodeRestriction(services.lookup, services.authorizer)
