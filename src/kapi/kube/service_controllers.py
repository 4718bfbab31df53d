"""Services, put together: the pools that allocation draws from, and what runs beside the server to keep them right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapi.api.addresses import validate_endpoint_ip
from kapi.api.gvk import GroupResource
from kapi.kube import service_ports
from kapi.kube.default_service_cidr import DefaultServiceCIDR
from kapi.kube.endpoint_reconcilers import (
    LEASE_PREFIX,
    LEASE_SECONDS,
    LEASE_SHAPE,
    CountReconciler,
    LeaseReconciler,
    Leases,
    OwnEndpoints,
    Reconciler,
)
from kapi.kube.kubernetes_service import KubernetesService
from kapi.kube.service_addresses import ClusterIPs
from kapi.kube.service_allocation import ServiceAllocation
from kapi.kube.service_network import ServiceNetwork
from kapi.kube.service_ports import NodePorts
from kapi.kube.service_repair import AddressRepair, PortRepair, ServiceRepair
from kapi.registry.store import Store
from kapi.server.config import GenericConfig
from kapi.server.hooks import PostStart
from kapi.server.server import GenericServer
from kapi.storage.factory import StorageFactory
from kapi.telemetry.log import log

_SERVICES = GroupResource("", "services")
_ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
_CIDRS = GroupResource("networking.k8s.io", "servicecidrs")


class ServiceHooks(NamedTuple):
    """What is to be started once the server serves."""

    repair: PostStart
    kubernetes_service: PostStart
    ranges: PostStart


class ServiceControllers:
    """`allocation` is made first, for the resource to carry; the rest needs the stores that are installed with it."""

    def __init__(self, network: ServiceNetwork, factory: StorageFactory) -> None:
        self.allocation = ServiceAllocation(network.families)
        self._network = network
        self._factory = factory

    def install(self, server: GenericServer, stores: Mapping[GroupResource, Store]) -> ServiceHooks:
        config, network = server.config, self._network
        client = config.loopback
        ips = ClusterIPs(client, stores[_CIDRS], stores[_ADDRESSES])
        shared = self._factory.shared(service_ports.RESOURCE, service_ports.PREFIX, service_ports.SHAPE)
        ports = NodePorts(shared, network.node_ports)
        self.allocation.bind(ips, ports)
        ranges = DefaultServiceCIDR(network.ranges, config.clock)
        repair = ServiceRepair(
            AddressRepair(client, stores[_SERVICES], stores[_ADDRESSES], ips, config.clock),
            PortRepair(stores[_SERVICES], ports),
            ranges.there,
        )
        own = KubernetesService(network, client, lambda: self._port(config), self._reconciler(config))
        server.add_pre_shutdown_hook("stop-kubernetes-service-controllers", own.stop)
        return ServiceHooks(repair=repair.start, kubernetes_service=own.start, ranges=ranges.start)

    def _reconciler(self, config: GenericConfig) -> Reconciler | None:
        network, ip = self._network, self._network.advertise_address
        if network.reconciler == "none":
            return None
        if validate_endpoint_ip("", ip):
            log.warning("endpoints_not_kept", advertise_address=ip, reason="nobody else can reach this address")
            return None
        endpoints = OwnEndpoints(config.loopback, lambda: self._port(config))
        if network.reconciler == "master-count":
            return CountReconciler(network.servers, endpoints, ip)
        store = self._factory.shared(GroupResource("", "apiServerIPInfo"), LEASE_PREFIX, LEASE_SHAPE, ttl=LEASE_SECONDS)
        return LeaseReconciler(Leases(store), endpoints, ip)

    def _port(self, config: GenericConfig) -> int:
        return self._network.port or config.lifecycle.listeners[0].port
