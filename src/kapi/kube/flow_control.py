"""Flow control in the Kube server: it follows the stores, keeps its objects in order, and shows its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapi.api.call import Call
from kapi.api.gvk import GroupResource
from kapi.flowcontrol.control import FlowControl
from kapi.kube.flow_schema_upkeep import FlowSchemaUpkeep
from kapi.registry.store import Store
from kapi.server.hooks import HookContext
from kapi.server.routes import Routes
from kapi.server.server import GenericServer
from kapi.wire.messages import Response

GROUP = "flowcontrol.apiserver.k8s.io"
_DUMPS = "/debug/api_priority_and_fairness/dump_"


def install_flow_control(server: GenericServer, control: FlowControl, stores: Mapping[GroupResource, Store]) -> None:
    caches = tuple(
        stores[GroupResource(GROUP, plural)].objects.cacher for plural in ("flowschemas", "prioritylevelconfigurations")
    )
    upkeep = FlowSchemaUpkeep(server.config.clock)

    async def consume(context: HookContext) -> None:
        await control.configuration.fill(*caches)
        context.spawn(control.configuration.follow(*caches), name="flow-control-configuration")
        await upkeep.start(context)

    async def lend(context: HookContext) -> None:
        context.spawn(control.keep_adjusting(), name="flow-control-borrowing")

    server.add_generic_hook("priority-and-fairness-config-consumer", consume)
    server.add_generic_hook("priority-and-fairness-filter", lend)
    _add_dumps(server.routes, control)


def _add_dumps(routes: Routes, control: FlowControl) -> None:
    def add(name: str, text: Callable[[Call], str]) -> None:
        async def handle(call: Call) -> Response:
            return Response(200, [(b"content-type", b"text/plain; charset=utf-8")], text(call).encode())

        routes.exact[_DUMPS + name] = handle
        routes.unlisted.add(_DUMPS + name)

    def priority_levels(call: Call) -> str:
        from kapi.flowcontrol import dump  # people look rarely

        return dump.priority_levels(control)

    def queues(call: Call) -> str:
        from kapi.flowcontrol import dump

        return dump.queues(control)

    def requests(call: Call) -> str:
        from kapi.flowcontrol import dump

        return dump.requests(control, details=bool(call.params.get("includeRequestDetails", [""])[0]))

    add("priority_levels", priority_levels)
    add("queues", queues)
    add("requests", requests)
