"""Admin access: a claim may reach devices that are in use, in namespaces that are labelled for it."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.call import Call
from kapi.api.errors import Invalid
from kapi.api.fields import FieldError, forbidden
from kapi.api.objects import Object
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.resource import Finish, Resource
from kapi.registry.store import Store
from kapi.resources.resource import resourceclaims, resourceclaimtemplates

LABEL = "resource.kubernetes.io/admin-access"
_WHY = f"admin access to devices requires the `{LABEL}: true` label on the containing namespace"


class AdminAccess:
    """The StoreHooks of claims or of their templates; bound to the namespaces once there is a store of them."""

    def __init__(self, resource: Resource, claim_spec: Callable[[Object], Object]) -> None:
        self.resource = resource
        self._claim_spec = claim_spec
        self._namespaces: Store | None = None

    def bind(self, namespaces: Store) -> None:
        self._namespaces = namespaces

    async def begin_create(self, call: Call, new: Object, options: WriteOptions) -> Finish | None:
        refused = await self._refused(new)
        if refused:
            # As upstream: told together with all else that is wrong.
            validate = self.resource.strategy.validate
            problems = refused + (validate(call, new) if validate is not None else [])
            raise Invalid(self.resource.group_kind, new["metadata"].get("name", ""), problems)
        return None

    async def begin_update(self, call: Call, new: Object, old: Object, options: WriteOptions) -> Finish | None:
        """What a claim or a template asks for does not change."""
        return None

    async def after_delete(self, call: Call, old: Object, options: DeleteOptions) -> None:
        """What is deleted reaches nothing."""

    async def _refused(self, new: Object) -> list[FieldError]:
        requests = (self._claim_spec(new).get("devices") or {}).get("requests") or []
        wanted = (i for i, request in enumerate(requests) if (request.get("exactly") or {}).get("adminAccess"))
        first = next(wanted, None)
        if first is None or await self._is_allowed(new["metadata"].get("namespace", "")):
            return []
        return [forbidden(f"spec.devices.requests[{first}].adminAccess", _WHY)]

    async def _is_allowed(self, namespace: str) -> bool:
        assert self._namespaces is not None, "requests come once the server is installed"
        found = await self._namespaces.get("", namespace)
        return found.labels.get(LABEL) == "true"


def all_admin_access() -> tuple[AdminAccess, ...]:
    return (
        AdminAccess(resourceclaims.RESOURCE, lambda claim: claim["spec"]),
        AdminAccess(resourceclaimtemplates.RESOURCE, lambda template: template["spec"].get("spec") or {}),
    )
