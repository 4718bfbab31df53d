"""What the Kube server serves of authentication and authorization: reviews, tokens, and guards of the rbac objects.

Made before there are stores, because the handler chain needs it; bound to them once the server is installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kapi.api.authorizer import Authorizer, RuleSource
from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.authn.tokens import Tokens
from kapi.authz.bindings import Caches
from kapi.authz.node_graph import LOOKED_AT, NodeGraph
from kapi.authz.rbac import GROUP, RBAC
from kapi.kube.cluster_authentication import AuthenticationInfo
from kapi.kube.issuer_discovery import CONFIGURATION, KEYS, IssuerDiscovery
from kapi.registry.resource import Resource
from kapi.registry.store import Store
from kapi.resources.authentication import selfsubjectreviews, tokenreviews
from kapi.resources.authentication.tokenrequests import TokenRequests
from kapi.resources.authorization import reviews, selfsubjectrulesreviews
from kapi.resources.rbac.escalation import Escalation
from kapi.server.routes import Routes

_ACCOUNTS = GroupResource("", "serviceaccounts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """`stores` is empty until `bind` fills it: what tokens are bound to is looked up there."""

    tokens: Tokens
    authorizer: Authorizer
    rules: RuleSource
    rbac: RBAC
    nodes: NodeGraph
    token_requests: TokenRequests | None
    discovery: IssuerDiscovery | None
    told: AuthenticationInfo
    stores: dict[GroupResource, Store]

    @property
    def told_paths(self) -> tuple[str, ...]:
        """What OpenAPI lists of it, besides resources."""
        return () if self.discovery is None else tuple(path.lstrip("/") for path in (CONFIGURATION, KEYS))

    def resources(self, built_in: Iterable[Resource], clock: Clock) -> list[Resource]:
        """The built-in ones, guarded where they grant something, and the reviews."""
        authorizer = self.authorizer
        return [
            *(self._guarded(resource) for resource in built_in),
            selfsubjectreviews.resource(clock),
            tokenreviews.resource(self.tokens),
            reviews.local_subject_access_reviews(authorizer),
            reviews.self_subject_access_reviews(authorizer),
            selfsubjectrulesreviews.resource(self.rules),
            reviews.subject_access_reviews(authorizer),
        ]

    def _guarded(self, resource: Resource) -> Resource:
        if resource.group == GROUP:
            return replace(resource, hooks=Escalation(self.rbac, self.authorizer).guard(resource))
        if self.token_requests is not None and (resource.group, resource.kind) == ("", "ServiceAccount"):
            token = self.token_requests.subresource()
            return replace(resource, subresources={**resource.subresources, "token": token})
        return resource

    def bind(self, routes: Routes, stores: dict[GroupResource, Store]) -> None:
        self.stores.update(stores)
        cachers = (
            stores[GroupResource(GROUP, plural)].objects.cacher
            for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
        )
        self.rbac.bind(Caches(*cachers))
        self.nodes.bind({resource: stores[resource].objects.cacher for resource in LOOKED_AT if resource in stores})
        if self.discovery is not None:
            self.discovery.install(routes)


class StoreGetter:
    """Objects by resource and name, from stores that may come later."""

    def __init__(self, stores: dict[GroupResource, Store]) -> None:
        self._stores = stores

    async def __call__(self, resource: GroupResource, namespace: str, name: str) -> Object | None:
        store = self._stores.get(resource)
        if store is None:
            return None
        entry = await store.objects.get(store.key(namespace, name), None)
        return None if entry is None else entry.object
