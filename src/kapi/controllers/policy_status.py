"""The status of ValidatingAdmissionPolicies: which of their expressions do not fit the objects they are about."""

from __future__ import annotations

from kapi.admission.resources import VALIDATING_POLICIES
from kapi.admission.versions import Versions
from kapi.api import errors
from kapi.api.client import APPLY_PATCH, Client
from kapi.api.gvk import GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue
from kapi.schema.types import Type

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_MANAGER = "validatingadmissionpolicy-status"


def start(context: Context) -> list[WorkQueue]:
    client = context.client
    served = _Served(context.versions)

    async def reconcile(name: str) -> None:
        try:
            policy = await client.get(f"{_PATH}/{name}")
            observed = (policy.get("status") or {}).get("observedGeneration", 0)
            if policy["metadata"].get("generation", 0) > observed:
                await _tell(client, policy, served)
        except errors.NotFound:
            return

    queue = WorkQueue(names.POLICY_STATUS, reconcile, workers=1)

    def policy_changed(change: Change) -> None:
        if change.value is not None:
            queue.add(change.name)

    context.informers.of(VALIDATING_POLICIES).listen(policy_changed)
    return [queue]


async def _tell(client: Client, policy: Object, served: _Served) -> None:
    from kapi.admission.policy.type_check import expression_warnings  # CEL loads slowly, and needs a policy to be used

    metadata = policy["metadata"]
    warnings = expression_warnings(policy, served.kind_at, served.type_of)
    checking: Object = {"expressionWarnings": warnings} if warnings else {}
    applied = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": metadata["name"]},
        "status": {"observedGeneration": metadata.get("generation", 0), "typeChecking": checking},
    }
    await client.patch(f"{_PATH}/{metadata['name']}/status", applied, APPLY_PATCH, fieldManager=_MANAGER, force="true")


class _Served:
    """Kinds and their types, as they are served now."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions

    def kind_at(self, resource: GroupVersionResource) -> GroupVersionKind | None:
        found = self._versions.at(resource)
        return found.gvk if found is not None else None

    def type_of(self, kind: GroupVersionKind) -> Type | None:
        store = self._versions.store_of(kind)
        return store.resource.schema if store is not None else None
