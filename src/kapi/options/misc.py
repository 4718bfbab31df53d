"""Misc flags: what belongs to the Kubernetes API rather than to any API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import Later, Refused, flag
from kapi.options.kinds import BOOL, DURATION, INT, PORT_RANGE, STRING, STRINGS, PortRange
from kapi.options.service_ips import service_ip_problems

_NODE_PORTS = PortRange(30000, 32767)
RECONCILERS = ("lease", "master-count", "none")
_NO_KUBELET = Later("no kubelet is connected to: log, exec, attach, portforward and proxy are not served")
_NO_PORTS = Refused("no kubelet is connected to yet; each node will say its own port")
_NO_SSH = Refused("there are no SSH tunnels to nodes yet")
_NO_ELECTION = Refused("there is no coordinated leader election yet")
_NO_PEERS = Refused("requests are not proxied to other API servers yet")
_NO_AGGREGATION = Later("requests are not proxied to other API servers")


def _count(value: int) -> str | None:
    return None if value > 0 else f"should be a positive number, but value '{value}' provided"


def _node_port(value: int) -> str | None:
    if 0 <= value <= 65535:
        return None
    return (
        f"{value} must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP"
    )


@dataclass(kw_only=True, eq=False, repr=False)
class MiscOptions:
    """The misc flags, with their defaults."""

    section: ClassVar[str] = "misc"

    aggregator_reject_forwarding_redirect: bool = flag(
        BOOL,
        "Refuse redirects that an aggregated API server answers with.",
        default=True,
        standing=Refused("requests are not proxied to other API servers yet"),
    )
    allow_privileged: bool = flag(BOOL, "Whether containers may ask to be privileged.")
    apiserver_count: int = flag(
        INT,
        "How many API servers there are, for --endpoint-reconciler-type=master-count.",
        default=1,
        deprecated="removed in Kubernetes 1.24",
        check=_count,
    )
    coordinated_leadership_lease_duration: float = flag(
        DURATION, "The duration of the lease.", default=15.0, standing=_NO_ELECTION
    )
    coordinated_leadership_renew_deadline: float = flag(
        DURATION, "How long its holder tries to renew it.", default=10.0, standing=_NO_ELECTION
    )
    coordinated_leadership_retry_period: float = flag(
        DURATION, "How long it waits between tries.", default=2.0, standing=_NO_ELECTION
    )
    enable_aggregator_routing: bool = flag(
        BOOL,
        "Reach aggregated API servers at their endpoints instead of their service's address.",
        standing=_NO_AGGREGATION,
    )
    enable_logs_handler: bool = flag(
        BOOL, "Serve the files of /var/log under /logs.", standing=Refused("/logs is not served yet")
    )
    endpoint_reconciler_type: str = flag(
        STRING,
        f"How the endpoints of the kubernetes service are kept: {', '.join(RECONCILERS)}.",
        default="lease",
        check=checks.one_of(*RECONCILERS),
    )
    event_ttl: float = flag(DURATION, "How long events are kept.", default=3600.0, check=checks.not_negative)
    kubelet_certificate_authority: str = flag(
        STRING, "CAs of kubelets' certificates.", standing=_NO_KUBELET, check=checks.certificates
    )
    kubelet_client_certificate: str = flag(STRING, "The certificate to show to kubelets.", standing=_NO_KUBELET)
    kubelet_client_key: str = flag(STRING, "The key of --kubelet-client-certificate.", standing=_NO_KUBELET)
    kubelet_https: bool = flag(
        BOOL,
        "Connect to kubelets with TLS.",
        default=True,
        deprecated="removed in Kubernetes 1.22",
        standing=_NO_PORTS,
    )
    kubelet_port: int = flag(
        INT, "The kubelets' port.", default=10250, deprecated="removed in Kubernetes 1.22", standing=_NO_PORTS
    )
    kubelet_preferred_address_types: tuple[str, ...] = flag(
        STRINGS,
        "Which of a node's addresses to connect to, in order of preference.",
        default=("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"),
        standing=_NO_KUBELET,
    )
    kubelet_read_only_port: int = flag(
        INT,
        "The kubelets' read-only port, which SSH tunnels are checked with.",
        default=10255,
        deprecated="removed in Kubernetes 1.22",
        standing=_NO_PORTS,
    )
    kubelet_timeout: float = flag(
        DURATION, "How long to wait for a kubelet.", default=5.0, standing=_NO_KUBELET, check=checks.not_negative
    )
    kubernetes_service_node_port: int = flag(
        INT,
        "The node port of the kubernetes service. 0: it has none.",
        check=_node_port,
    )
    master_service_namespace: str = flag(
        STRING,
        "The namespace of the kubernetes service.",
        default="default",
        deprecated="removed in Kubernetes 1.27",
        standing=Refused("the kubernetes service is in namespace default"),
    )
    max_connection_bytes_per_sec: int = flag(
        INT,
        "The bandwidth limit, in bytes a second, of each exec, attach, portforward and proxy connection. 0: none.",
        check=checks.not_negative,
    )
    peer_advertise_ip: str = flag(STRING, "The address that other API servers reach this one at.", standing=_NO_PEERS)
    peer_advertise_port: str = flag(STRING, "The port that other API servers reach this one at.", standing=_NO_PEERS)
    peer_ca_file: str = flag(STRING, "CAs of other API servers' certificates.", standing=_NO_PEERS)
    proxy_client_cert_file: str = flag(
        STRING, "The certificate to show to aggregated API servers and webhooks.", standing=_NO_AGGREGATION
    )
    proxy_client_key_file: str = flag(STRING, "The key of --proxy-client-cert-file.", standing=_NO_AGGREGATION)
    repair_malformed_updates: bool = flag(
        BOOL,
        "Repair updates that lack a UID instead of refusing them.",
        deprecated="removed in Kubernetes 1.14",
        standing=Refused("malformed updates are answered with an error, as in every later release"),
    )
    service_account_signing_endpoint: str = flag(
        STRING,
        "The socket of an external signer of service account tokens.",
        standing=Refused("tokens are not signed by others yet"),
    )
    service_account_signing_key_file: str = flag(
        STRING,
        "The key that service account tokens are signed with.",
        check=checks.private_key,
    )
    service_cluster_ip_range: str = flag(
        STRING,
        "The range of services' addresses as a CIDR; for dual stack two of different families, comma separated. It "
        "must not overlap the addresses of nodes and pods. Unset: 10.0.0.0/24.",
    )
    service_node_port_range: PortRange = flag(  # noqa: RUF009 - a named tuple, not shared state
        PORT_RANGE, "The range of services' node ports, both ends included.", default=_NODE_PORTS
    )
    ssh_keyfile: str = flag(
        STRING, "The key of SSH tunnels to nodes.", deprecated="removed in Kubernetes 1.22", standing=_NO_SSH
    )
    ssh_user: str = flag(
        STRING, "The user of SSH tunnels to nodes.", deprecated="removed in Kubernetes 1.22", standing=_NO_SSH
    )

    def validate(self) -> list[str]:
        errors = service_ip_problems(self.service_cluster_ip_range)
        for cert, key, certificate_path, key_path in (
            (
                "proxy-client-cert-file",
                "proxy-client-key-file",
                self.proxy_client_cert_file,
                self.proxy_client_key_file,
            ),
            (
                "kubelet-client-certificate",
                "kubelet-client-key",
                self.kubelet_client_certificate,
                self.kubelet_client_key,
            ),
        ):
            if bool(certificate_path) != bool(key_path):
                errors.append(f"--{cert} and --{key} must be specified together")
            elif certificate_path and (problem := checks.pair(certificate_path, key_path)):
                errors.append(f"--{cert}: {problem}")
        port, ports = self.kubernetes_service_node_port, self.service_node_port_range
        if port > 0 and port not in ports:
            errors.append(f"kubernetes service node port range {ports.low}-{ports.high} doesn't contain {port}")
        return errors
