"""The service `kubernetes` in the namespace `default`: how pods reach the API servers.

It is created once the server is ready, and only then does the server add itself to the service's endpoints; before it
stops it takes itself out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.kube.endpoint_reconcilers import Reconciler
from kapi.kube.service_network import ServiceNetwork
from kapi.server.hooks import HookContext
from kapi.storage import kv
from kapi.telemetry.log import log

NAMESPACE, NAME, PORT_NAME = "default", "kubernetes", "https"
SERVICE_PORT = 443
INTERVAL = 10.0
_RETRY, _FIRST_RETRY = 0.05, 1.0
_SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"


class KubernetesService:
    """`reconciler` is None when someone else keeps the endpoints, or when this server's address cannot be one."""

    def __init__(
        self, network: ServiceNetwork, client: Client, port: Callable[[], int], reconciler: Reconciler | None
    ) -> None:
        self._network = network
        self._client = client
        self._port = port
        self._reconciler = reconciler
        self._stopping = False
        self._turn = asyncio.Lock()

    async def start(self, context: HookContext) -> None:
        context.spawn(self._run(), name="kubernetes-service")

    async def stop(self) -> None:
        """Shutting down does not wait for long: the lease of a server that is gone ends by itself."""
        self._stopping = True
        if self._reconciler is None:
            return
        try:
            async with asyncio.timeout(2 * INTERVAL), self._turn:
                await self._reconciler.remove()
        except (TimeoutError, errors.APIError, kv.StorageError) as error:
            log.warning("endpoints_not_removed", error=str(error))

    async def _run(self) -> None:
        await self._until_ready()
        wait = _FIRST_RETRY
        while not self._stopping:
            try:
                async with self._turn:
                    await self.sync()
                wait = INTERVAL
            except (errors.APIError, kv.StorageError) as error:
                log.warning("kubernetes_service_failed", error=str(error))
            await asyncio.sleep(wait)

    async def _until_ready(self) -> None:
        while True:
            try:
                await self._client.get("/readyz")
            except errors.APIError:
                await asyncio.sleep(_RETRY)
            except ValueError:
                # It answers "ok", which is no JSON.
                return
            else:
                return

    async def sync(self) -> None:
        """As upstream: a service that is there is left as it is, whatever it says."""
        try:
            await self._client.get(f"{_SERVICES}/{NAME}")
        except errors.NotFound:
            try:
                await self._client.create(_SERVICES, self._service())
            except errors.AlreadyExists:
                log.debug(2, "kubernetes_service_exists")
        if self._reconciler is not None and not self._stopping:
            await self._reconciler.reconcile()

    def _service(self) -> Object:
        network = self._network
        port: Object = {"name": PORT_NAME, "protocol": "TCP", "port": SERVICE_PORT, "targetPort": self._port()}
        if network.node_port:
            port["nodePort"] = network.node_port
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": NAME, "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {
                "type": "NodePort" if network.node_port else "ClusterIP",
                "ports": [port],
                "clusterIP": network.api_server_ip,
                "ipFamilyPolicy": "SingleStack",
                "sessionAffinity": "None",
            },
        }
