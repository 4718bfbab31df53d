"""Routes: which handler serves a path that is no resource, and the few that every server has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from kapi.api.call import Call
from kapi.api.errors import MethodNotAllowed, UnknownResource
from kapi.endpoints.negotiate import check_offered
from kapi.filters.handler import CallHandler
from kapi.telemetry.metrics import CONTENT_TYPE, Registry
from kapi.wire.messages import Response

_JSON = (b"content-type", b"application/json")


class Routes:
    """`exact` by path; `prefix` by a path that ends in a slash, the longest first; `unlisted` are left out of `/`."""

    def __init__(self) -> None:
        self.exact: dict[str, CallHandler] = {}
        self.unlisted: set[str] = set()
        self._prefixes: list[tuple[str, CallHandler]] = []

    def add_prefix(self, prefix: str, handler: CallHandler, *, listed: bool = True) -> None:
        """Serve all below this prefix; an existing handler of the same prefix is replaced."""
        self.remove_prefix(prefix)
        self._prefixes.append((prefix, handler))
        self._prefixes.sort(key=lambda route: (route[0].count("/"), len(route[0])), reverse=True)
        if not listed:
            self.unlisted.add(prefix)

    def remove_prefix(self, prefix: str) -> None:
        self._prefixes = [route for route in self._prefixes if route[0] != prefix]

    def find(self, path: str) -> CallHandler | None:
        handler = self.exact.get(path)
        if handler is None:
            for prefix, prefix_handler in self._prefixes:
                if path.startswith(prefix):
                    return prefix_handler
        return handler

    def listed_paths(self) -> set[str]:
        return {*self.exact, *(prefix for prefix, _ in self._prefixes)} - self.unlisted


async def unknown_resource(call: Call) -> Response:
    """For prefixes that the server claims whole: what is not there is a Status, not the end of the delegation."""
    raise UnknownResource()


def add_version(routes: Routes, version: Mapping[str, str]) -> None:
    body = orjson.dumps(dict(version), option=orjson.OPT_INDENT_2)

    async def handle(call: Call) -> Response:
        if call.request.method != "GET":
            raise MethodNotAllowed()
        check_offered(call.request.headers.get("accept"), "application/json")
        return Response(200, [_JSON], body)

    routes.exact["/version"] = routes.exact["/version/"] = handle
    routes.unlisted.add("/version/")
    routes.add_prefix("/version/", unknown_resource, listed=False)


def add_index(routes: Routes, paths: Callable[[], set[str]]) -> None:
    async def handle(call: Call) -> Response:
        return Response(200, [_JSON], orjson.dumps({"paths": sorted(paths())}, option=orjson.OPT_INDENT_2))

    for path in ("/", "/index.html"):
        routes.exact[path] = handle
        routes.unlisted.add(path)


def add_metrics(routes: Routes, path: str, registry: Registry) -> None:
    async def handle(call: Call) -> Response:
        return Response(200, [(b"content-type", CONTENT_TYPE)], registry.text())

    routes.exact[path] = handle
