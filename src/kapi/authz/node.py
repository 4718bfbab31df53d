"""The Node authorizer: what a kubelet may do, which depends on what runs on its node.

What a node may read is what its pods need; what it may write is narrowed further by NodeRestriction admission. It has
no opinion on anybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kapi.api.authorizer import ALLOW, NO_OPINION, Decision, KnownRules, Verdict
from kapi.api.fields import go_quote
from kapi.api.request_info import RequestInfo
from kapi.api.selectors import InvalidSelector, parse_field_selector
from kapi.api.user import User
from kapi.authz.node_graph import NodeGraph
from kapi.authz.node_rules import NODE_RULES
from kapi.authz.rules import Rule
from kapi.storage import kv

_PREFIX, _GROUP = "system:node:", "system:nodes"
_NODE_LEASES = "kube-node-lease"


def _no(reason: str = "") -> Verdict:
    return Verdict(Decision.NO_OPINION, reason) if reason else NO_OPINION


@cache
def _rules() -> list[Rule]:
    return [Rule(rule) for rule in NODE_RULES]


class NodeAuthorizer:
    def __init__(self, graph: NodeGraph) -> None:
        self._graph = graph
        related = self._related
        self._narrowed: dict[tuple[str, str], Callable[[str, RequestInfo], Verdict]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._account,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): lambda node, a: _slice(node, a, related),
            ("", "nodes"): _node,
            ("", "pods"): self._pod,
            ("certificates.k8s.io", "podcertificaterequests"): lambda node, a: _pod_certificate(node, a, related),
        }

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        return None if user.name.startswith(_PREFIX) else NO_OPINION

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        if not user.name.startswith(_PREFIX) or _GROUP not in user.groups:
            return NO_OPINION
        node = user.name[len(_PREFIX) :]
        if not node:
            return _no(f"unknown node for user {go_quote(user.name)}")
        if attributes.is_resource_request:
            narrowed = self._narrowed.get((attributes.api_group, attributes.resource))
            if narrowed is not None:
                try:
                    await self._graph.fill()
                except kv.StorageError as error:
                    return _no(f"what runs on the node cannot be read: {error}")
                return narrowed(node, attributes)
        return ALLOW if any(rule.allows(attributes) for rule in _rules()) else NO_OPINION

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        if user.name.startswith(_PREFIX) and _GROUP in user.groups:
            return KnownRules([], incomplete=True, problem="node authorizer does not support user rule resolution")
        return KnownRules([])

    def _related(self, node: str, a: RequestInfo) -> Verdict:
        name = a.name or a.selected_name
        if not name:
            return _no("No Object name found")
        if self._graph.related(node, a.resource, a.namespace, name):
            return ALLOW
        return _no(f"no relationship found between node '{node}' and this object")

    def _read(self, node: str, a: RequestInfo) -> Verdict:
        if a.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if a.subresource:
            return _no("cannot read subresource")
        if not a.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, a)

    def _get(self, node: str, a: RequestInfo) -> Verdict:
        if a.verb != "get":
            return _no("can only get individual resources of this type")
        if a.subresource:
            return _no("cannot get subresource")
        return self._related(node, a)

    def _claim(self, node: str, a: RequestInfo) -> Verdict:
        if a.subresource != "status":
            return self._get(node, a)
        if a.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, a)

    def _account(self, node: str, a: RequestInfo) -> Verdict:
        if a.verb == "get" and not a.subresource:
            return self._related(node, a)
        if a.verb != "create" or not a.name:
            return _no("can only create tokens for individual service accounts")
        if a.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, a)

    def _pod(self, node: str, a: RequestInfo) -> Verdict:
        if (a.subresource, a.verb) in _POD_WRITES:
            return ALLOW
        if a.subresource:
            return NO_OPINION
        if a.verb == "get":
            return self._get(node, a)
        if a.verb not in ("list", "watch"):
            return NO_OPINION
        if _selects(a, "spec.nodeName", node):
            return ALLOW
        if a.name or a.selected_name:
            return self._related(node, a)
        return _no("can only list/watch pods with spec.nodeName field selector")


_POD_WRITES = {
    ("", "create"),
    ("", "delete"),
    ("status", "update"),
    ("status", "patch"),
    ("eviction", "create"),
}


def _selects(a: RequestInfo, field: str, value: str) -> bool:
    try:
        return parse_field_selector(a.field_selector).exact(field) == value
    except InvalidSelector:
        return False


def _node(node: str, a: RequestInfo) -> Verdict:
    if a.subresource == "status":
        return ALLOW if a.verb in ("update", "patch") else NO_OPINION
    if a.subresource:
        return NO_OPINION
    if a.verb in ("create", "update", "patch"):
        return ALLOW
    if a.verb not in ("get", "list", "watch"):
        return NO_OPINION
    name = a.name or a.selected_name
    if name == node:
        return ALLOW
    what = f"'{name}'" if name else "all nodes"
    return _no(f"node '{node}' cannot read {what}, only its own Node object")


def _lease(node: str, a: RequestInfo) -> Verdict:
    if a.verb not in ("get", "create", "update", "patch", "delete"):
        return _no("can only get, create, update, patch, or delete a node lease")
    if a.namespace != _NODE_LEASES:
        return _no(f'can only access leases in the "{_NODE_LEASES}" system namespace')
    # A create does not say the name yet: admission does look.
    if a.verb != "create" and a.name != node:
        return _no("can only access node lease with the same name as the requesting node")
    return ALLOW


def _csi_node(node: str, a: RequestInfo) -> Verdict:
    if a.verb not in ("get", "create", "update", "patch", "delete"):
        return _no("can only get, create, update, patch, or delete a CSINode")
    if a.subresource:
        return _no("cannot authorize CSINode subresources")
    if a.verb != "create" and a.name != node:
        return _no("can only access CSINode with the same name as the requesting node")
    return ALLOW


def _slice(node: str, a: RequestInfo, related: Callable[[str, RequestInfo], Verdict]) -> Verdict:
    if a.subresource:
        return _no("cannot authorize ResourceSlice subresources")
    if a.verb == "create":
        return ALLOW
    if a.verb in ("get", "update", "patch", "delete"):
        return related(node, a)
    if a.verb in ("watch", "list", "deletecollection"):
        if _selects(a, "spec.nodeName", node) or _selects(a, "nodeName", node):
            return ALLOW
        return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
    return _no(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, "
        "deletecollection"
    )


def _pod_certificate(node: str, a: RequestInfo, related: Callable[[str, RequestInfo], Verdict]) -> Verdict:
    if a.subresource:
        return _no("nodes may not access the status subresource of PodCertificateRequests")
    if a.verb == "create":
        return ALLOW
    if a.verb == "get":
        return related(node, a)
    if a.verb in ("list", "watch"):
        if _selects(a, "spec.nodeName", node):
            return ALLOW
        return _no("can only list/watch podcertificaterequests with nodeName field selector")
    return NO_OPINION
