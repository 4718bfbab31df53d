"""What a service's write takes and gives back: cluster addresses, node ports, the port of the health check.

Taken before the service is stored, given back when that fails; what a change no longer needs is given back only when it
has succeeded. So a crash in between leaks at worst, and the repair loops find what leaked.
"""

from __future__ import annotations

from kapi.api import errors
from kapi.api.addresses import parse_ip
from kapi.api.call import Call
from kapi.api.fields import invalid
from kapi.api.objects import Object
from kapi.kube.service_addresses import ClusterIPs
from kapi.kube.service_network import AllocationError, Full, Taken
from kapi.kube.service_ports import NodePorts
from kapi.kube.service_stack import KIND, fill_families, normalize_cluster_ips, stays_as_it_is
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.resource import Finish
from kapi.resources.core.service_families import families_of
from kapi.resources.core.service_rules import (
    cluster_ips,
    has_node_ports,
    is_headless,
    needs_cluster_ip,
    needs_health_check,
    node_ports,
)

# Where a dry run's node ports start: it takes none, and shows these instead.
_DRY_PORT = 32768


class ServiceAllocation:
    """The StoreHooks of services. It is bound to its pools once the stores they work on are there."""

    def __init__(self, families: tuple[str, ...]) -> None:
        self._families = families
        self._ips: ClusterIPs | None = None
        self._ports: NodePorts | None = None

    def bind(self, ips: ClusterIPs, ports: NodePorts) -> None:
        self._ips, self._ports = ips, ports

    async def begin_create(self, call: Call, new: Object, options: WriteOptions) -> Finish | None:
        normalize_cluster_ips(new, None)
        fill_families(new, None, self._families)
        taking = self._taking(new, dry_run=options.dry_run)
        async with taking:
            await taking.all_ips()
            await taking.first_ports()
            if needs_health_check(new):
                await taking.health_check_port()
        return taking.finish

    async def begin_update(self, call: Call, new: Object, old: Object, options: WriteOptions) -> Finish | None:
        keep_allocated(new, old)
        normalize_cluster_ips(new, old)
        fill_families(new, old, self._families)
        taking = self._taking(new, dry_run=options.dry_run)
        async with taking:
            await taking.changed_ips(old)
            await taking.changed_ports(old)
        return taking.finish

    async def after_delete(self, call: Call, old: Object, options: DeleteOptions) -> None:
        if options.dry_run:
            return
        taking = self._taking(old, dry_run=False)
        if needs_cluster_ip(old) and not is_headless(old):
            taking.ips_to_release += cluster_ips(old)
        taking.ports_to_release += node_ports(old)
        if needs_health_check(old):
            taking.ports_to_release.append(old["spec"].get("healthCheckNodePort", 0))
        await taking.finish(True)

    def _taking(self, service: Object, *, dry_run: bool) -> Taking:
        assert self._ips is not None and self._ports is not None, "no service is written before the server is complete"
        return Taking(service, self._ips, self._ports, dry_run=dry_run)


def keep_allocated(new: Object, old: Object) -> None:
    """What was allocated stays when an update leaves it out: the same manifest can be sent again."""
    spec, was = new["spec"], old["spec"]
    if needs_cluster_ip(old) and needs_cluster_ip(new):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and was.get(field):
                spec[field] = was[field]
    if _allocates_ports(old) and _allocates_ports(new):
        used = set(node_ports(old)) & set(node_ports(new))
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in was.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    checked = needs_health_check(old) and needs_health_check(new)
    if checked and not spec.get("healthCheckNodePort") and was.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = was["healthCheckNodePort"]


def _allocates_ports(service: Object) -> bool:
    """Whether ports without a node port get one."""
    spec = service["spec"]
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return bool(spec.get("type") == "NodePort")


class Taking:
    """Addresses and ports for one write of one service. As a context, it undoes itself when something cannot be had."""

    def __init__(self, service: Object, ips: ClusterIPs, ports: NodePorts, *, dry_run: bool) -> None:
        self.ips_to_release: list[str] = []  # once the write has succeeded
        self.ports_to_release: list[int] = []
        self._service = service
        self._spec = service["spec"]
        self._ips = ips
        self._ports = ports
        self._dry_run = dry_run
        self._taken_ips: list[str] = []
        self._taken_ports: list[int] = []

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            await self.finish(False)

    async def finish(self, stored: bool) -> None:
        if self._dry_run:
            return
        ips, ports = self.ips_to_release, self.ports_to_release
        if not stored:
            ips, ports = self._taken_ips, self._taken_ports
        for text in ips:
            ip = parse_ip(text)
            if ip is not None:
                await self._ips.give_back(ip)
        if ports:
            await self._ports.give_back(ports)

    # Addresses

    async def all_ips(self) -> None:
        if not needs_cluster_ip(self._service) or is_headless(self._service):
            return
        given = cluster_ips(self._service)
        ips = []
        for i, family in enumerate(families_of(self._service)):
            ips.append(await self._ip(family, given[i] if i < len(given) else ""))
        self._spec["clusterIPs"] = ips
        self._spec["clusterIP"] = ips[0]

    async def changed_ips(self, old: Object) -> None:
        """To and from ExternalName all, to and from dual stack the second one."""
        if stays_as_it_is(self._service, old):
            return
        if not needs_cluster_ip(old):
            await self.all_ips()
            return
        if is_headless(old):
            return
        before, families = cluster_ips(old), families_of(self._service)
        if not needs_cluster_ip(self._service):
            self.ips_to_release += before
        elif len(families_of(old)) == 1 and len(families) == 2:
            given = cluster_ips(self._service)
            second = await self._ip(families[1], given[1] if len(given) > 1 else "")
            self._spec["clusterIPs"] = [*given[:1], second]
        elif len(families_of(old)) == 2 and len(families) == 1:
            self.ips_to_release += before[1:]

    async def _ip(self, family: str, wanted: str) -> str:
        """The address as the service shall have it: one that was asked for stays as it was written."""
        name, given = self._service["metadata"].get("name", ""), cluster_ips(self._service)
        ip = parse_ip(wanted)
        try:
            if self._dry_run:
                tried = await self._ips.try_out(family, ip)
                return wanted or tried
            if ip is None:
                wanted = str(await self._ips.take_any(self._service, family))
            else:
                await self._ips.take(self._service, ip)
        except Full as full:
            raise errors.InternalError(f'failed to allocate a serviceIP for Service "{name}": {full}') from full
        except AllocationError as error:
            which = f" {wanted}" if wanted else ""
            text = f"failed to allocate IP{which}: {error}"
            shown = given + [""] * (len(families_of(self._service)) - len(given))
            raise errors.Invalid(KIND, name, [invalid("spec.clusterIPs", shown, text)]) from error
        self._taken_ips.append(wanted)
        return wanted

    # Ports

    async def first_ports(self) -> None:
        """Ports of one number, for several protocols, share a node port."""
        if not has_node_ports(self._service):
            return
        ports = self._spec.get("ports") or []
        shared: dict[int, int] = {}
        for i, port in enumerate(ports):
            number, node_port = port.get("port", 0), port.get("nodePort", 0)
            if not node_port and not _allocates_ports(self._service):
                continue
            if number not in shared:
                asked = next((p["nodePort"] for p in ports if p.get("port") == number and p.get("nodePort")), 0)
                shared[number] = port["nodePort"] = await self._port(i, asked)
            elif not node_port:
                port["nodePort"] = shared[number]
            elif node_port != shared[number]:
                await self._port(i, node_port)

    async def changed_ports(self, old: Object) -> None:
        before = node_ports(old)
        if has_node_ports(self._service):
            await self._new_ports(before)
            after = node_ports(self._service)
            self.ports_to_release += [port for port in before if port not in after]
        elif has_node_ports(old):
            self.ports_to_release += before
        if needs_health_check(self._service) and not needs_health_check(old):
            await self.health_check_port()
        elif needs_health_check(old) and not needs_health_check(self._service):
            self.ports_to_release.append(old["spec"].get("healthCheckNodePort", 0))

    async def _new_ports(self, before: list[int]) -> None:
        taken: set[int] = set()
        seen: set[tuple[str, int]] = set()
        for i, port in enumerate(self._spec.get("ports") or ()):
            asked = port.get("nodePort", 0)
            if not asked and not _allocates_ports(self._service):
                continue
            if not asked:
                port["nodePort"] = await self._port(i, 0)
            elif asked not in before and asked not in taken:
                taken.add(await self._port(i, asked))
            key = (port.get("protocol", ""), port["nodePort"])
            if key in seen:
                raise errors.APIError(f"duplicate nodePort: {{{key[0]} {key[1]}}}")
            seen.add(key)

    async def _port(self, index: int, asked: int) -> int:
        try:
            return await self._take_port(asked)
        except AllocationError as error:
            if not asked:
                raise errors.InternalError(f"failed to allocate a nodePort: {error}") from error
            found = invalid(f"spec.ports[{index}].nodePort", asked, str(error))
            raise errors.Invalid(KIND, self._service["metadata"].get("name", ""), [found]) from error

    async def health_check_port(self) -> None:
        asked = self._spec.get("healthCheckNodePort", 0)
        try:
            self._spec["healthCheckNodePort"] = await self._take_port(asked)
        except AllocationError as error:
            which = f"requested HealthCheck NodePort {asked}" if asked else "a HealthCheck NodePort 0"
            raise errors.InternalError(f"failed to allocate {which}: {error}") from error

    async def _take_port(self, asked: int) -> int:
        if self._dry_run:
            port = await self._try_port(asked)
        elif asked:
            await self._ports.take(asked)
            port = asked
        else:
            port = await self._ports.take_any()
        self._taken_ports.append(port)
        return port

    async def _try_port(self, asked: int) -> int:
        if not asked:
            return (max(0, *self._taken_ports) if self._taken_ports else _DRY_PORT) + 1
        if asked in self._taken_ports or await self._ports.taken() & self._ports.bits([asked]):
            raise Taken("provided port is already allocated")
        return asked
