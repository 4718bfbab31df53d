"""OwnerReferencesPermissionEnforcement: who ties an object's life to another's must be allowed to end both."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup
from kapi.admission.refusal import forbidden
from kapi.admission.services import Services
from kapi.api.authorizer import Authorizer, Decision, Verdict
from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.registry.attributes import Attributes
from kapi.registry.resource import Resource

# As upstream: the kubelet and the scheduler work through these, and change no owners there.
_EXEMPT = (("", "pods", "status"),)


class OwnerReferencesPermissionEnforcement:
    name = "OwnerReferencesPermissionEnforcement"

    def __init__(self, authorizer: Authorizer, lookup: Lookup) -> None:
        self._authorizer = authorizer
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", at=None),)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        if (*attributes.resource.group_resource, attributes.subresource) in _EXEMPT:
            return None
        if _owners(attributes.object) == _owners(attributes.old_object):
            return None
        return self._check(attributes)

    async def _check(self, attributes: Attributes) -> None:
        if attributes.operation != "CREATE":
            verdict = await self._ask(attributes, self._deletion(attributes))
            if verdict.decision is not Decision.ALLOW:
                why = f"cannot set an ownerRef on a resource you can't delete: {verdict.reason}, <nil>"
                raise forbidden(attributes, why)
        blocking = _newly_blocking(attributes)
        if not blocking:
            return
        anything = await self._ask(attributes, _finalizers("*", "*", "*", "*"))
        if anything.decision is Decision.ALLOW:
            return
        for reference in blocking:
            await self._check_blocking(attributes, reference)

    async def _check_blocking(self, attributes: Attributes, reference: Object) -> None:
        api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        owners = list(self._resources(api_version, kind))
        if not owners:
            why = (
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion "
                f'{api_version} Kind {kind}: no matches for kind "{kind}" in version "{api_version}"'
            )
            raise forbidden(attributes, why)
        for owner in owners:
            wanted = _finalizers(owner.group, owner.version, owner.names.plural, reference.get("name", ""))
            wanted.namespace = attributes.namespace if owner.names.namespaced else ""
            verdict = await self._ask(attributes, wanted)
            if verdict.decision is not Decision.ALLOW:
                why = (
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers "
                    f"on: {verdict.reason}, <nil>"
                )
                raise forbidden(attributes, why)

    def _resources(self, api_version: str, kind: str) -> Iterator[Resource]:
        try:
            wanted = GroupVersion.parse(api_version)
        except ValueError:
            return
        for store in self._lookup.stores.values():
            resource = store.resource
            if resource.kind == kind and resource.group_version == wanted and resource.virtual is None:
                yield resource

    def _deletion(self, attributes: Attributes) -> RequestInfo:
        wanted = _resource_request("delete", *attributes.resource)
        wanted.namespace, wanted.subresource, wanted.name = (
            attributes.namespace,
            attributes.subresource,
            attributes.name,
        )
        return wanted

    async def _ask(self, attributes: Attributes, wanted: RequestInfo) -> Verdict:
        return await self._authorizer.authorize(attributes.call.user, wanted)


def _resource_request(verb: str, group: str, version: str, resource: str) -> RequestInfo:
    wanted = RequestInfo("", verb)
    wanted.is_resource_request = True
    wanted.api_group, wanted.api_version, wanted.resource = group, version, resource
    return wanted


def _finalizers(group: str, version: str, resource: str, name: str) -> RequestInfo:
    wanted = _resource_request("update", group, version, resource)
    wanted.subresource, wanted.name = "finalizers", name
    return wanted


def _owners(found: Object | None) -> list[Object]:
    owners: list[Object] = ((found or {}).get("metadata") or {}).get("ownerReferences") or []
    return owners


def _newly_blocking(attributes: Attributes) -> list[Object]:
    before = {owner.get("uid") for owner in _owners(attributes.old_object) if owner.get("blockOwnerDeletion")}
    return [o for o in _owners(attributes.object) if o.get("blockOwnerDeletion") and o.get("uid") not in before]


def build(services: Services, _: Object | None) -> OwnerReferencesPermissionEnforcement:
    return OwnerReferencesPermissionEnforcement(services.authorizer, services.lookup)
