"""The generic server: routes, API groups, hooks and health checks of its own, and a delegate for everything else."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.server.chain import build_handler_chain, build_insecure_handler_chain
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate, EmptyDelegate
from kapi.server.health import ENDPOINTS, LOG, LOOPBACK, PING, Check, event_check, health_routes, with_grace_period
from kapi.server.hooks import PostStart, PostStartHook, PreShutdown, PreShutdownHook
from kapi.server.profiling import add_profiling
from kapi.server.routes import Routes, add_index, add_metrics, add_version
from kapi.server.run import PreparedServer
from kapi.wire.messages import Response


class GenericServer:
    """`api_groups` maps (group, version) to what serves its resources and its discovery."""

    def __init__(self, name: str, config: GenericConfig, delegate: Delegate | None = None) -> None:
        self.name = name
        self.config = config
        self.delegate = delegate or EmptyDelegate()
        self.routes = Routes()
        self.api_groups: dict[tuple[str, str], CallHandler] = {}
        self._checks: list[Check] = []
        self._post_start_hooks: dict[str, PostStartHook] = {}
        self._pre_shutdown_hooks: dict[str, PreShutdownHook] = {}
        self._prepared = False
        add_index(self.routes, self.listed_paths)
        add_version(self.routes, config.version)
        add_metrics(self.routes, "/metrics", config.instruments.registry)
        add_metrics(self.routes, "/metrics/slis", config.instruments.slis)
        if config.profiling:
            add_profiling(self.routes, config.instruments.log)

    def handle(self, call: Call) -> Awaitable[Response]:
        """The director: own groups, own routes, then the delegate."""
        info = call.info
        # Only the core group has no name, and only it lives under /api.
        if info.api_version and (info.api_prefix == "apis") is bool(info.api_group):
            group = self.api_groups.get((info.api_group, info.api_version))
            if group is not None:
                return group(call)
        handler = self.routes.find(info.path)
        return self.delegate.handle(call) if handler is None else handler(call)

    def add_post_start_hook(self, name: str, run: PostStart) -> None:
        self._may_add(name, self._post_start_hooks)
        self._post_start_hooks[name] = PostStartHook(name, run)
        self._checks.append(self._post_start_hooks[name].check())

    def add_generic_hook(self, name: str, run: PostStart) -> None:
        self._may_add(name, self._post_start_hooks)
        self.delegate.add_generic_hook(name, run)

    def add_generic_check(self, check: Check) -> None:
        self.delegate.add_generic_check(check)

    def add_pre_shutdown_hook(self, name: str, run: PreShutdown) -> None:
        self._may_add(name, self._pre_shutdown_hooks)
        self._pre_shutdown_hooks[name] = PreShutdownHook(name, run)

    def add_check(self, check: Check) -> None:
        if self._prepared:
            raise RuntimeError(f"cannot add {check.name}: the health endpoints are installed already")
        self._checks.append(check)

    def _may_add(self, name: str, present: object) -> None:
        if self._prepared:
            raise RuntimeError(f"cannot add {name}: {self.name} has been prepared to run")
        assert isinstance(present, dict)
        if name in present:
            raise ValueError(f"cannot add {name}: there is such a hook already")

    def all_checks(self) -> list[Check]:
        """Those of the delegates first, as upstream; of the same name the first."""
        checks = [PING, LOG, LOOPBACK, *self.config.health_checks, *self.delegate.all_checks(), *self._checks]
        return list({check.name: check for check in reversed(checks)}.values())[::-1]

    def all_post_start_hooks(self) -> list[PostStartHook]:
        return [*self.delegate.all_post_start_hooks(), *self._post_start_hooks.values()]

    def all_pre_shutdown_hooks(self) -> list[PreShutdownHook]:
        return [*self.delegate.all_pre_shutdown_hooks(), *self._pre_shutdown_hooks.values()]

    def listed_paths(self) -> set[str]:
        """All that `/` lists: the paths of the whole chain."""
        paths = self.routes.listed_paths() | self.delegate.listed_paths()
        for group, version in self.api_groups:
            paths |= {f"/apis/{group}", f"/apis/{group}/{version}"} if group else {"/api", f"/api/{version}"}
        return paths

    def prepare_run(self) -> PreparedServer:
        """What needs everything to be installed: down the chain first, then here. Nothing can be added afterwards."""
        self.delegate.prepare_run()
        if not self._prepared:
            self._install_health()
            self._prepared = True
        handler = build_handler_chain(self.handle, self.config)
        self.config.loopback.bind(handler)
        ports = []
        if self.config.secure_serving is not None:
            ports.append((self.config.secure_serving, handler))
        if self.config.insecure_serving is not None:
            ports.append((self.config.insecure_serving, build_insecure_handler_chain(self.handle, self.config)))
        return PreparedServer(
            config=self.config,
            handler=handler,
            ports=ports,
            post_start_hooks=self.all_post_start_hooks(),
            pre_shutdown_hooks=self.all_pre_shutdown_hooks(),
        )

    def _install_health(self) -> None:
        life, clock = self.config.lifecycle, self.config.clock
        stopping = life.shutdown_initiated
        shutdown = event_check(
            "shutdown", lambda: not stopping.is_set(), "process is shutting down", endpoints=("readyz",)
        )
        patience = clock.monotonic() + self.config.livez_grace_period
        for endpoint in ENDPOINTS:
            checks = [c for c in (*self.all_checks(), shutdown) if endpoint in c.endpoints]
            if endpoint == "livez":
                checks = [with_grace_period(c, clock, patience) if c.boot else c for c in checks]
            ready = life.has_been_ready.set if endpoint == "readyz" else None
            self.routes.exact.update(health_routes(endpoint, checks, self.config.instruments, ready))
