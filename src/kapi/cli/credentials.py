"""The certificates and keys of `kapi up`: a CA of its own, what the server shows, who the administrator is."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kapi.wire.pki import Authority, ensure_service_account_keys

SERVICE_NAMES = ("kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost")
ADMINISTRATOR = "kapi-admin"
ADMINISTRATORS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Where each file lies."""

    ca: Path
    serving: tuple[Path, Path]  # certificate, key
    admin: tuple[Path, Path]  # certificate, key
    service_account: tuple[Path, Path]  # private, public

    def flags(self) -> list[str]:
        private, public = self.service_account
        return [
            f"--client-ca-file={self.ca}",
            f"--tls-cert-file={self.serving[0]}",
            f"--tls-private-key-file={self.serving[1]}",
            f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={private}",
            "--service-account-issuer=https://kubernetes.default.svc",
        ]


def prepare(directory: Path, *, service_ip: str, addresses: Iterable[str]) -> Credentials:
    """Creates what is missing and renews what is about to end."""
    authority = Authority(directory)
    names = [*SERVICE_NAMES, *_hostname()]
    ips = ["127.0.0.1", "::1", service_ip, *_specific(addresses)]
    return Credentials(
        ca=authority.ensure(),
        serving=authority.issue_server(names, ips),
        admin=authority.issue_client(ADMINISTRATOR, [ADMINISTRATORS], pair_name="admin"),
        service_account=ensure_service_account_keys(directory),
    )


def service_address(ranges: str) -> str:
    """The API server's own service IP: the first address of the first range."""
    return str(ipaddress.ip_network(ranges.split(",")[0], strict=False)[1])


def default_address() -> str | None:
    """The address of the interface that leads outside, if there is one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return None


def _specific(addresses: Iterable[str]) -> list[str]:
    """Those that name one machine; 0.0.0.0 stands for the default interface's."""
    found = []
    for address in addresses:
        if not ipaddress.ip_address(address).is_unspecified:
            found.append(address)
        elif outside := default_address():
            found.append(outside)
    return found


def _hostname() -> list[str]:
    name = socket.gethostname()
    # Certificates hold ASCII names of at most 253 characters; a machine may be called anything.
    return [name] if name.isascii() and 0 < len(name) <= 253 and not name.startswith(".") else []
