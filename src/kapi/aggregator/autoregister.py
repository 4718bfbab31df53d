"""Auto-registration: an APIService for every group-version that the servers behind the aggregator serve themselves.

Those of built-in groups are put right once, at the start; those of custom resources whenever they or their definitions
change. As upstream's autoregister and crd-registration controllers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Protocol

from kapi.aggregator.apiservices import available, spec_of
from kapi.api import errors
from kapi.api.client import Client
from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.priorities import PRIORITIES
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.follower import Follower
from kapi.telemetry.log import log

AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
ON_START, ALWAYS = "onstart", "true"  # its values: when an APIService is put right
PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
_OWN_GROUP = "apiregistration.k8s.io"
# As upstream: the same for all group-versions that definitions bring; discovery orders them by name.
_CUSTOM_PRIORITIES = (1000, 100)
_AT_A_TIME = 16  # so many writes share a commit
_RETRY_SECONDS = 1.0


class Definitions(Protocol):
    """The group-versions that custom resource definitions bring."""

    async def load(self, seconds: float) -> None:
        """Until all are known."""

    def group_versions(self) -> Iterable[GroupVersion]: ...

    def defines(self, group_version: GroupVersion) -> bool: ...

    def follow(self, changed: Callable[[GroupVersion], None]) -> None:
        """From now on this is told of each group-version that came or went, perhaps of others too."""


def local_services(catalogue: Catalogue) -> dict[str, Object]:
    """The specs of the APIServices of built-in groups, by name."""
    served = [e.group_version for e in catalogue.entries() if e.resources and e.group_version in PRIORITIES]
    return {_name(gv): _spec(gv, *PRIORITIES[gv]) for gv in served if gv.group != _OWN_GROUP}


def _name(group_version: GroupVersion) -> str:
    return f"{group_version.version}.{group_version.group}"


def _named(key: str) -> str:
    return key.rpartition("/")[2]


def _spec(group_version: GroupVersion, priority: int, version_priority: int) -> Object:
    spec: Object = {"group": group_version.group} if group_version.group else {}
    spec |= {"version": group_version.version, "groupPriorityMinimum": priority, "versionPriority": version_priority}
    return spec


class AutoRegistration:
    """`missing` are the built-in APIServices that have not been seen to be available yet."""

    def __init__(self, cacher: Cacher, local: Mapping[str, Object], definitions: Definitions) -> None:
        self.missing = set(local)
        self._cacher = cacher
        self._local = local
        self._definitions = definitions
        self._pending: dict[str, None] = {}
        self._some = asyncio.Event()
        self._synced: set[str] = set()
        self._at_start: frozenset[str] = frozenset()

    async def start(self, client: Client, seconds: float) -> None:
        """Register what is built in; the cache is filled. The rest is left to `run`."""
        # Definitions come first: else their APIServices would seem to be for nothing.
        await self._definitions.load(seconds)
        Follower(self._cacher, self._changed, self._look_at_all)
        self._definitions.follow(lambda group_version: self._put(_name(group_version)))
        self._at_start = frozenset(_named(entry.key) for entry in self._cacher.select(self._cacher.prefix))
        self._look_at_all()
        await self._sync(client, self._local)

    def _look_at_all(self) -> None:
        for entry in self._cacher.select(self._cacher.prefix):
            self._changed(entry.key, entry)
        for name in self._local:
            self._put(name)
        for group_version in self._definitions.group_versions():
            self._put(_name(group_version))

    def _changed(self, key: str, entry: Entry | None) -> None:
        name = _named(key)
        if name in self.missing and entry is not None and available(entry.object) == "True":
            self.missing.discard(name)
        self._put(name)

    def _put(self, name: str) -> None:
        self._pending[name] = None
        self._some.set()

    async def run(self, client: Client) -> None:
        """Until cancelled."""
        while True:
            await self._some.wait()
            names = list(islice(self._pending, _AT_A_TIME))
            for name in names:
                del self._pending[name]
            if not self._pending:
                self._some.clear()
            await self._sync(client, names)
            await asyncio.sleep(0)  # a thousand that need nothing must not hold up others

    async def _sync(self, client: Client, names: Iterable[str]) -> None:
        # Most are as they should be, and cost no task.
        changes = [(name, change) for name in names if (change := self._change(name)) is not None]
        if changes:
            await asyncio.gather(*(self._carry_out(client, name, *change) for name, change in changes))

    def _wanted(self, name: str) -> tuple[str, Object]:
        """When it is to be put right (empty: it should not be), and its spec."""
        if name in self._local:
            return ON_START, self._local[name]
        version, _, group = name.partition(".")
        group_version = GroupVersion(group, version)
        if self._definitions.defines(group_version):
            return ALWAYS, _spec(group_version, *_CUSTOM_PRIORITIES)
        return "", {}

    def _change(self, name: str) -> tuple[str, Object] | None:
        """What is to be done: a method, and the object to send; as the table of upstream's checkAPIService."""
        mode, spec = self._wanted(name)
        entry = self._cacher.get(self._cacher.prefix + name)
        again = name in self._synced
        self._synced.add(name)
        if mode == ON_START and again:
            return None
        if entry is None:
            return ("create", _service(name, mode, spec)) if mode else None
        held = entry.labels.get(AUTOMANAGED)
        if held not in (ON_START, ALWAYS) or (held == ON_START and (again or name not in self._at_start)):
            return None
        if not mode:
            return "delete", {}
        return None if spec_of(entry) == spec else ("update", {**entry.object, "spec": spec})

    async def _carry_out(self, client: Client, name: str, method: str, obj: Object) -> None:
        try:
            if method == "create":
                await client.create(PATH, obj)
            elif method == "update":
                await client.update(f"{PATH}/{name}", obj)
            else:
                await client.delete(f"{PATH}/{name}")
        except (errors.AlreadyExists, errors.NotFound, errors.Conflict):
            return  # the newer state comes by as an event of its own
        except errors.APIError as error:
            log.warning("autoregistration_failed", name=name, error=str(error))
            self._synced.discard(name)
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._put, name)


def _service(name: str, mode: str, spec: Object) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name, "labels": {AUTOMANAGED: mode}},
        "spec": spec,
    }
