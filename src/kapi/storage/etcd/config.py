"""Where etcd is and how to talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from kapi.storage.kv import StorageError

DEFAULT_PORT = 2379


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdConfig:
    """The files are read when the engine starts. Times are in seconds."""

    endpoints: tuple[str, ...]
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    dial_timeout: float = 3.0
    request_timeout: float = 10.0
    range_timeout: float = 60.0
    keepalive_time: float = 30.0
    keepalive_timeout: float = 10.0
    lease_reuse_duration_seconds: int = 60
    lease_max_object_count: int = 1000


def target(endpoint: str, *, tls: bool) -> tuple[str, bool]:
    """What gRPC dials for `http(s)://host:port`, and whether it speaks TLS; `tls` decides when no scheme is given."""
    if "://" not in endpoint:
        endpoint = f"{'https' if tls else 'http'}://{endpoint}"
    url = urlsplit(endpoint)
    if url.scheme == "unix" and url.path:
        return f"unix:{url.path}", False
    try:
        host, port = url.hostname, url.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if url.scheme not in ("http", "https") or not host or url.path not in ("", "/"):
        raise StorageError(f"{endpoint!r} is not an etcd endpoint: --etcd-servers takes http(s)://host:port")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", url.scheme == "https"
