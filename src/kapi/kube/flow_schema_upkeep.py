"""Every FlowSchema says in its status whether the priority level that it refers to exists."""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import APPLY_PATCH, Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.server.hooks import HookContext
from kapi.telemetry.log import log

_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
_LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
_MANAGER = "api-priority-and-fairness-config-consumer-v1"
_RETRY = 1.0


class FlowSchemaUpkeep:
    """Follows both resources, and writes the condition `Dangling` where it is missing or untrue."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._levels: set[str] = set()
        self._schemas: dict[str, Object] = {}

    async def start(self, context: HookContext) -> None:
        context.spawn(self._run(context.client), name=_MANAGER)

    async def _run(self, client: Client) -> None:
        while True:
            try:
                await self._follow(client)
            except errors.APIError as error:
                log.warning("flow_schema_upkeep_failed", error=error.message)
                await asyncio.sleep(_RETRY)

    async def _follow(self, client: Client) -> None:
        """Until one of the two watches ends."""
        levels, schemas = await client.list(_LEVELS), await client.list(_SCHEMAS)
        self._levels = {level["metadata"]["name"] for level in levels["items"]}
        self._schemas = {schema["metadata"]["name"]: schema for schema in schemas["items"]}
        await self._look_after_all(client)
        watches = [
            asyncio.create_task(self._follow_levels(client, levels["metadata"]["resourceVersion"])),
            asyncio.create_task(self._follow_schemas(client, schemas["metadata"]["resourceVersion"])),
        ]
        try:
            ended, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for watch in watches:
                watch.cancel()
        for watch in ended:
            watch.result()

    async def _follow_levels(self, client: Client, revision: str) -> None:
        async for event in client.watch(_LEVELS, resourceVersion=revision):
            if event["type"] == "ERROR":
                return
            name = event["object"]["metadata"]["name"]
            if event["type"] == "DELETED":
                self._levels.discard(name)
            else:
                self._levels.add(name)
            await self._look_after_all(client)

    async def _follow_schemas(self, client: Client, revision: str) -> None:
        async for event in client.watch(_SCHEMAS, resourceVersion=revision):
            if event["type"] == "ERROR":
                return
            schema = event["object"]
            if event["type"] == "DELETED":
                self._schemas.pop(schema["metadata"]["name"], None)
            else:
                self._schemas[schema["metadata"]["name"]] = schema
                await self._look_after(client, schema)

    async def _look_after_all(self, client: Client) -> None:
        for schema in list(self._schemas.values()):
            await self._look_after(client, schema)

    async def _look_after(self, client: Client, schema: Object) -> None:
        level = schema["spec"]["priorityLevelConfiguration"]["name"]
        found = level in self._levels
        refers = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        wanted = {
            "type": "Dangling",
            "status": "False" if found else "True",
            "reason": "Found" if found else "NotFound",
            "message": f"{refers} and it exists" if found else f"{refers} but there is no such object",
        }
        conditions = (schema.get("status") or {}).get("conditions") or ()
        said: Object = next((c for c in conditions if c.get("type") == "Dangling"), {})
        if all(said.get(field) == value for field, value in wanted.items()):
            return
        same = said.get("status") == wanted["status"] and said.get("lastTransitionTime")
        wanted["lastTransitionTime"] = said["lastTransitionTime"] if same else rfc3339(self._clock.now())
        name = schema["metadata"]["name"]
        applied = {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "FlowSchema",
            "metadata": {"name": name, "uid": schema["metadata"]["uid"]},
            "status": {"conditions": [wanted]},
        }
        try:
            await client.patch(f"{_SCHEMAS}/{name}/status", applied, APPLY_PATCH, fieldManager=_MANAGER, force="true")
        except (errors.Conflict, errors.NotFound):
            return  # it went, or another took its name: that comes by here too
