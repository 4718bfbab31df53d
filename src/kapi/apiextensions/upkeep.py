"""Looking after definitions: the conditions in their status, and the clean-up of instances when one is deleted.

One task works through the definitions that changed. What it writes goes through the API, as this server itself.
"""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.apiextensions.approval import approval_condition
from kapi.apiextensions.cleanup import Instances
from kapi.apiextensions.definition import FINALIZER, NO_CONFLICTS, Definition, condition
from kapi.apiextensions.served import Served
from kapi.endpoints.install import Installer
from kapi.storage import kv
from kapi.telemetry.log import log

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RETRY_SECONDS = 1.0


class Upkeep:
    """Names come in by `put`; `run` works on them until it is cancelled."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._cleaning: dict[str, Instances] = {}  # by the name of the definition that goes
        self._written: dict[str, object] = {}
        self._due: set[str] = set()

    def put(self, name: str) -> None:
        if name not in self._waiting:
            self._waiting.add(name)
            self._queue.put_nowait(name)

    async def run(self, served: Served, client: Client, installer: Installer) -> None:
        while True:
            name = await self._queue.get()
            self._waiting.discard(name)
            while served.retired:
                await installer.retire(served.retired.pop())
            try:
                await self._look_after(name, served, client)
            except (errors.Conflict, errors.NotFound):
                continue  # a newer state is on its way, and comes by here
            except (errors.APIError, kv.StorageError) as error:
                log.warning("definition_upkeep_failed", name=name, error=str(error))
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self.put, name)

    async def _look_after(self, name: str, served: Served, client: Client) -> None:
        definition = served.get(name)
        if definition is None:
            self._forget(name)
            self._written.pop(name, None)
            return
        if definition.conflict is None and definition.settled_as == definition.accepted:
            return  # as nearly all are, nearly always
        obj = definition.entry.object
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            if FINALIZER in (metadata.get("finalizers") or ()):
                await self._clean_up(definition, obj, served, client)
            return
        if not self._set_conditions(definition, obj):
            return
        state = (definition.uid, definition.accepted, definition.conflict)
        if self._written.get(name) == state and name not in self._due:
            # Somebody took away what was written here: it comes back, but not in the same breath.
            self._due.add(name)
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self.put, name)
            return
        self._due.discard(name)
        self._written[name] = state
        await client.update(f"{PATH}/{name}/status", obj)

    # Conditions

    def _set_conditions(self, definition: Definition, obj: Object) -> bool:
        """Bring the status up to date; whether anything changed."""
        status = obj.setdefault("status", {})
        before = (status.get("acceptedNames"), [dict(c) for c in status.get("conditions") or ()])
        status["acceptedNames"] = definition.accepted.told
        if definition.conflict is None:
            self._set(obj, "NamesAccepted", *NO_CONFLICTS.values())
            if not definition.established:
                self._set(obj, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
        else:
            self._set(obj, "NamesAccepted", "False", *definition.conflict)
            if condition(obj, "Established") is None:
                self._set(obj, "Established", "False", "NotAccepted", "not all names are accepted")
        approval = approval_condition(obj)
        if approval is not None:
            self._set(obj, "KubernetesAPIApprovalPolicyConformant", *approval)
        return before != (status["acceptedNames"], status.get("conditions"))

    def _set(self, obj: Object, kind: str, state: str, reason: str, message: str) -> None:
        conditions = obj["status"].get("conditions")
        if conditions is None:
            conditions = obj["status"]["conditions"] = []
        found = condition(obj, kind)
        if found is None:
            found = {"type": kind}
            conditions.append(found)
        if found.get("status") != state:
            found["lastTransitionTime"] = rfc3339(self._clock.now())
        found |= {"status": state, "reason": reason, "message": message}

    # Clean-up

    async def _clean_up(self, definition: Definition, obj: Object, served: Served, client: Client) -> None:
        name = definition.name
        if not definition.established:
            self._set(obj, "Terminating", "False", "NeverEstablished", "resource was never established")
            await self._let_go(name, obj, client)
            return
        instances = self._cleaning.get(name)
        if instances is None:
            store = served.storage_endpoint(definition).store.objects
            instances = self._cleaning[name] = Instances(store, self._clock, lambda: self.put(name))
        if not await instances.delete():
            self._set(
                obj, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            )
            if obj != definition.entry.object:
                await client.update(f"{PATH}/{name}/status", obj)
            return
        self._set(obj, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
        await self._let_go(name, obj, client)

    async def _let_go(self, name: str, obj: Object, client: Client) -> None:
        finalizers = [f for f in obj["metadata"]["finalizers"] if f != FINALIZER]
        obj["metadata"]["finalizers"] = finalizers
        await client.update(f"{PATH}/{name}/status", obj)
        self._forget(name)

    def _forget(self, name: str) -> None:
        instances = self._cleaning.pop(name, None)
        if instances is not None:
            instances.close()
