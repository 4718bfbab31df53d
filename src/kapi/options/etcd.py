"""Etcd flags: which store the objects are in, and what is cached of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.api.gvk import GroupResource
from kapi.options import checks
from kapi.options.flag import Refused, flag
from kapi.options.kinds import BOOL, DURATION, INT, STRING, STRINGS

PROTOBUF = "application/vnd.kubernetes.protobuf"
BACKENDS = ("etcd3", "memory", "sqlite")
_OVERRIDES = (
    "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, "
    "semicolon separated"
)


def parse_watch_cache_sizes(values: tuple[str, ...]) -> dict[GroupResource, int]:
    """`resource[.group]#size` for each. ValueError in upstream's words."""
    sizes = {}
    for value in values:
        name, marker, size = value.partition("#")
        if not marker or "#" in size:
            raise ValueError(f"invalid value of watch cache size: {value}")
        if not size.lstrip("+-").isdecimal():
            raise ValueError(f"invalid size of watch cache size: {value}")
        if int(size) < 0:
            raise ValueError(f"watch cache size cannot be negative: {value}")
        resource, _, group = name.partition(".")
        sizes[GroupResource(group, resource)] = int(size)
    return sizes


def parse_overrides(values: tuple[str, ...]) -> dict[GroupResource, tuple[str, ...]]:
    """`group/resource#server;server` for each. ValueError in upstream's words."""
    overrides = {}
    for value in values:
        name, marker, servers = value.partition("#")
        parts = name.split("/")
        urls = tuple(servers.split(";"))
        if not marker or "#" in servers or len(parts) != 2 or not all(urls):
            raise ValueError(_OVERRIDES)
        overrides[GroupResource(*parts)] = urls
    return overrides


def _watch_cache_sizes(values: tuple[str, ...]) -> str | None:
    try:
        parse_watch_cache_sizes(values)
    except ValueError as error:
        return str(error)
    return None


def _servers(values: tuple[str, ...]) -> str | None:
    for value in values:
        host = value.removeprefix("https://").removeprefix("http://").removeprefix("unix://")
        if not host or "://" in host or host != host.strip():
            return f'"{value}" is not an etcd URL: use http://, https:// or unix://'
    return None


@dataclass(kw_only=True, eq=False, repr=False)
class EtcdOptions:
    """The etcd flags, with their defaults."""

    section: ClassVar[str] = "etcd"

    delete_collection_workers: int = flag(
        INT, "How many objects a deletecollection request deletes at once.", default=1
    )
    deserialization_cache_size: int = flag(
        INT,
        "How many decoded objects to keep.",
        deprecated="removed in Kubernetes 1.13",
        standing=Refused("reads send stored bytes without decoding them, so there is no such cache to size"),
    )
    enable_garbage_collector: bool = flag(
        BOOL,
        "Whether objects' owners are followed on deletion (orphan and foreground finalizers). Must agree with the "
        "controller manager's flag of the same name.",
        default=True,
    )
    encryption_provider_config: str = flag(
        STRING,
        "The file that says how to encrypt secrets and other resources in the store.",
        also=("experimental-encryption-provider-config",),
    )
    encryption_provider_config_automatic_reload: bool = flag(
        BOOL,
        "Reload --encryption-provider-config when it changes: within a minute, and only if it works.",
    )
    etcd_cafile: str = flag(STRING, "The CA that etcd's certificates are checked with.", check=checks.certificates)
    etcd_certfile: str = flag(STRING, "The client certificate to show to etcd.")
    etcd_compaction_interval: float = flag(
        DURATION, "How often old revisions are compacted. 0: never by this server.", default=300.0
    )
    etcd_count_metric_poll_period: float = flag(
        DURATION, "How often the number of objects of each resource is counted for the metric. 0: never.", default=60.0
    )
    etcd_db_metric_poll_interval: float = flag(
        DURATION, "How often the store's size is read for the metric.", default=30.0
    )
    etcd_healthcheck_timeout: float = flag(
        DURATION, "How long the liveness check waits for the store.", default=2.0, check=checks.not_negative
    )
    etcd_keyfile: str = flag(STRING, "The key of --etcd-certfile.")
    etcd_prefix: str = flag(STRING, "What every key in etcd begins with.", default="/registry")
    etcd_readycheck_timeout: float = flag(
        DURATION, "How long the readiness check waits for the store.", default=2.0, check=checks.not_negative
    )
    etcd_servers: tuple[str, ...] = flag(
        STRINGS,
        "URLs of the etcd servers, comma separated. Unset, objects are kept in --data-dir.",
        check=_servers,
    )
    etcd_servers_overrides: tuple[str, ...] = flag(
        STRINGS,
        "Other etcd servers for some resources: group/resource#servers, comma separated; servers are URLs, "
        "semicolon separated.",
    )
    lease_reuse_duration_seconds: int = flag(
        INT, "For how many seconds objects with a time to live share one etcd lease.", default=60
    )
    storage_backend: str = flag(
        STRING,
        "Where objects are kept: 'etcd3', 'sqlite' (in --data-dir) or 'memory' (gone with the process). Unset: etcd3 "
        "when --etcd-servers is given, sqlite otherwise.",
    )
    storage_media_type: str = flag(
        STRING,
        "The encoding of stored objects. kapi stores application/json; the default leaves the choice to it.",
        default=PROTOBUF,
    )
    storage_versions: str = flag(
        STRING,
        "The version that each group is stored in: group/version, comma separated.",
        deprecated="removed in Kubernetes 1.9",
        standing=Refused("each resource has one storage version, the one that upstream stores"),
    )
    watch_cache: bool = flag(BOOL, "Whether reads and watches are served from memory.", default=True)
    watch_cache_sizes: tuple[str, ...] = flag(
        STRINGS,
        "Cache sizes of single resources: resource[.group]#size, comma separated. 0 turns the cache of that resource "
        "off; other sizes are where it starts from.",
        check=_watch_cache_sizes,
    )

    def validate(self) -> list[str]:
        errors = []
        if self.storage_backend and self.storage_backend not in BACKENDS:
            errors.append(
                f"--storage-backend invalid, allowed values: {', '.join(BACKENDS)}. If not specified, it is etcd3 with "
                "--etcd-servers and sqlite without"
            )
        if self.storage_backend == "etcd3" and not self.etcd_servers:
            errors.append("--etcd-servers must be specified")
        if self.storage_backend in ("sqlite", "memory") and self.etcd_servers:
            errors.append(f"--etcd-servers cannot be used with --storage-backend={self.storage_backend}")
        if self.etcd_servers_overrides and not self.etcd_servers:
            errors.append("--etcd-servers-overrides needs --etcd-servers")
        try:
            parse_overrides(self.etcd_servers_overrides)
        except ValueError as error:
            errors.append(str(error))
        if self.encryption_provider_config_automatic_reload and not self.encryption_provider_config:
            errors.append("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
        if bool(self.etcd_certfile) != bool(self.etcd_keyfile):
            errors.append("--etcd-certfile and --etcd-keyfile must be specified together")
        elif self.etcd_certfile and (problem := checks.pair(self.etcd_certfile, self.etcd_keyfile)):
            errors.append(f"--etcd-certfile: {problem}")
        if self.storage_media_type not in (PROTOBUF, "application/json"):
            errors.append(f'--storage-media-type "{self.storage_media_type}" invalid, allowed values: application/json')
        return errors
