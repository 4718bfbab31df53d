"""The storage engine: chosen by the options, waited for at the start, looked after while serving, closed last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from kapi.api.gvk import GroupResource
from kapi.options.complete import CompletedOptions
from kapi.server.health import Check
from kapi.storage import kv
from kapi.storage.compaction import compact_regularly

DATABASE = "kapi.db"


class Engines:
    """The default engine, and those of resources that are stored elsewhere."""

    def __init__(self, default: kv.KV, overrides: dict[GroupResource, kv.KV]) -> None:
        self.default = default
        self._overrides = overrides

    def of(self, resource: GroupResource) -> kv.KV:
        return self._overrides.get(resource, self.default)

    @property
    def all(self) -> list[kv.KV]:
        return list(dict.fromkeys((self.default, *self._overrides.values())))

    async def compact(self, interval: float) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for engine in self.all:
                group.create_task(_compact(engine, interval))

    def checks(self, completed: CompletedOptions) -> tuple[Check, ...]:
        """Named as upstream names them, whatever the engine: probes in the field ask for these."""
        etcd = completed.options.etcd
        return (
            Check(name="etcd", run=self._check(etcd.etcd_healthcheck_timeout)),
            Check(name="etcd-readiness", run=self._check(etcd.etcd_readycheck_timeout), endpoints=("readyz",)),
        )

    def _check(self, timeout: float) -> Callable[[], Awaitable[str | None]]:
        async def run() -> str | None:
            try:
                async with asyncio.timeout(timeout):
                    await asyncio.gather(*(engine.revision() for engine in self.all))
            except TimeoutError:
                return f"the store did not answer within {timeout:g} s"
            except kv.StorageError as error:
                return str(error)
            return None

        return run

    async def close(self) -> None:
        await asyncio.gather(*(engine.close() for engine in self.all))


def database_path(data_dir: Path) -> Path:
    return data_dir / DATABASE


async def open_engines(completed: CompletedOptions) -> Engines:
    """Raises kv.StorageError, whose message says what to do."""
    make = {"sqlite": _sqlite, "memory": _memory, "etcd3": _etcd}[completed.storage_backend]
    default = make(completed, tuple(completed.options.etcd.etcd_servers))
    by_servers: dict[tuple[str, ...], kv.KV] = {}
    for servers in completed.etcd_servers_overrides.values():
        by_servers.setdefault(servers, _etcd(completed, servers))
    overrides = {resource: by_servers[servers] for resource, servers in completed.etcd_servers_overrides.items()}
    engines = Engines(default, overrides)
    started: list[kv.KV] = []
    try:
        for engine in engines.all:
            started.append(engine)
            await _start(engine, completed.options.generic.storage_initialization_timeout)
    except BaseException:
        await asyncio.gather(*(engine.close() for engine in started))
        raise
    return engines


async def _start(engine: kv.KV, timeout: float) -> None:
    wait_ready = getattr(engine, "wait_ready", None)
    if wait_ready is not None:
        await wait_ready(timeout)
    await engine.start()


async def _compact(engine: kv.KV, interval: float) -> None:
    if engine.in_step:
        await compact_regularly(engine, interval)
        return
    from kapi.storage.etcd.compactor import Compactor  # loaded with its engine

    await Compactor(engine, interval).run()  # type: ignore[arg-type]


def _sqlite(completed: CompletedOptions, _: tuple[str, ...]) -> kv.KV:
    from kapi.storage.sqlite import SQLiteKV  # each engine is loaded only where it is chosen

    return SQLiteKV(database_path(completed.data_dir))


def _memory(_: CompletedOptions, __: tuple[str, ...]) -> kv.KV:
    from kapi.storage.memory import MemoryKV

    return MemoryKV()


def _etcd(completed: CompletedOptions, servers: tuple[str, ...]) -> kv.KV:
    from kapi.storage.etcd import EtcdConfig, EtcdKV

    etcd = completed.options.etcd
    return EtcdKV(
        EtcdConfig(
            endpoints=servers,
            ca_file=etcd.etcd_cafile,
            cert_file=etcd.etcd_certfile,
            key_file=etcd.etcd_keyfile,
            lease_reuse_duration_seconds=etcd.lease_reuse_duration_seconds,
        )
    )
