"""`/statusz` and `/flagz`: what runs here, since when, and with which flags, for people with a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from kapi import __version__
from kapi.api.call import Call
from kapi.api.errors import NotAcceptable
from kapi.api.objects import Object
from kapi.filters.handler import CallHandler
from kapi.options.complete import CompletedOptions
from kapi.options.server_run_options import all_flags
from kapi.server.server import GenericServer
from kapi.wire.messages import Response

_ACCEPTED = "only the following media types are accepted: application/json, application/yaml, text/plain"
_WARNING = "Warning: this endpoint is for people; its text may change with any release."


def add_zpages(server: GenericServer, completed: CompletedOptions) -> None:
    began = server.config.clock.now()

    def status() -> Object:
        up = int(server.config.clock.now() - began)
        return {
            "Started": time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(began)),
            "Up": f"{up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
            "Binary version": server.config.version["gitVersion"],
            "kapi version": __version__,
            "Paths": " ".join(sorted(p for p in server.listed_paths() if p.count("/") == 1)),
        }

    def flags() -> Object:
        options = completed.options
        return {item.name: item.declared.kind.show(options.value(item)) for item in all_flags()}

    server.routes.exact["/statusz"] = _page("statusz", status)
    server.routes.exact["/flagz"] = _page("flagz", flags)


def _page(name: str, content: Callable[[], Object]) -> CallHandler:
    async def handle(call: Call) -> Response:
        accept = call.request.headers.get("accept") or "text/plain"
        types = [part.partition(";")[0].strip() for part in accept.split(",")]
        if not any(t in ("text/plain", "text/*", "*/*") for t in types):
            raise NotAcceptable(_ACCEPTED)
        lines = [f"kube-apiserver {name}", _WARNING, "", *(f"{k}: {v}" for k, v in content().items())]
        body = "\n".join(lines) + "\n"
        return Response(200, [(b"content-type", b"text/plain; charset=utf-8")], body.encode())

    return handle
