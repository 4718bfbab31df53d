"""The roots of the API: `/api`, `/apis` and `/apis/<group>`, told for the whole chain."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.errors import APIError, UnknownResource
from kapi.endpoints import discovery
from kapi.endpoints.failures import failure
from kapi.endpoints.priorities import PRIORITIES
from kapi.wire.messages import Response, text


class Roots:
    """`address` is where clients reach this server."""

    def __init__(self, catalogue: discovery.Catalogue, address: str) -> None:
        self._catalogue = catalogue
        self._address = address
        self._legacy = discovery.AggregatedGroups()
        self._named = discovery.AggregatedGroups()

    async def api(self, call: Call) -> Response:
        """`/api`, and what is below it but belongs to no group-version."""
        try:
            if call.info.path.strip("/") != "api":
                raise UnknownResource
            version = discovery.aggregated_version(call.request.headers.get("accept"))
            if version is not None and call.request.method == "GET":
                legacy = self._catalogue.group("")
                items = self._legacy.encode([legacy] if legacy else [])
                return await discovery.aggregated_answer(call, items, version)
            return await discovery.answer(call, discovery.api_versions(self._address))
        except APIError as error:
            return failure(call, error)

    async def apis(self, call: Call) -> Response:
        """`/apis` and `/apis/<group>`; an unknown group is not ours to answer for."""
        parts = call.info.path.strip("/").split("/")
        try:
            if len(parts) == 1:
                return await self._groups(call)
            versions = self._catalogue.group(parts[1])
            if not versions:
                return text(404, "404 page not found\n")
            if len(parts) > 2:
                # Only of its own groups does the server know all versions.
                if any(v.group_version in PRIORITIES for v in versions):
                    raise UnknownResource
                return text(404, "404 page not found\n")
            return await discovery.answer(call, discovery.api_group(versions), any_method=True)
        except APIError as error:
            return failure(call, error)

    async def _groups(self, call: Call) -> Response:
        version = discovery.aggregated_version(call.request.headers.get("accept"))
        if version is not None:
            groups = [v for name, v in self._catalogue.groups().items() if name]
            return await discovery.aggregated_answer(call, self._named.encode(groups), version)
        # As upstream's aggregator: the list of groups is told whatever the method.
        return await discovery.answer(call, discovery.api_group_list(self._catalogue), any_method=True)
