"""`kapi up`: from nothing to a server that kubectl can talk to.

It prepares what `kube-apiserver` wants given (certificates, keys, a port, a data directory), starts it in this process
with those flags, and says where everything is.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kapi import __version__
from kapi.cli import credentials, kubeconfig, ports
from kapi.cli.console import Console, table
from kapi.cli.home import Home, State
from kapi.cli.problem import EXIT_USAGE, Problem

if TYPE_CHECKING:
    from kapi.app.run import Ready
    from kapi.cli.credentials import Credentials
    from kapi.options.complete import CompletedOptions

LOG_LIMIT = 16 << 20
WAITING_FOR = {
    "fail-readiness": "load balancers are told",
    "delay": "the shutdown delay passes, hooks run",
    "stop-accepting": "the port closes",
    "drain": "requests under way and watches end",
    "close-connections": "connections close",
    "stop-background": "controllers stop",
    "stop-audit": "the audit log is written out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """What was asked for."""

    home: Home
    in_memory: bool = False
    port: int | None = None
    bind_address: str = "127.0.0.1"
    kubeconfig: Path | None = None
    merge: bool = False
    flags: tuple[str, ...] = ()  # for kube-apiserver, after ours, so that they win

    def arguments(self) -> list[str]:
        """The command line that asks for the same."""
        said = ["up", f"--data-dir={self.home.directory}", f"--bind-address={self.bind_address}"]
        said += ["--in-memory"] if self.in_memory else []
        said += [f"--port={self.port}"] if self.port is not None else []
        said += [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        said += ["--merge"] if self.merge else []
        return [*said, "-o", "json", "--", *self.flags]


def up(asked: Up, console: Console) -> int:
    """Serves until it is told to stop; returns the exit status."""
    _check_address(asked.bind_address)
    with asked.home.owned():
        port = ports.choose(asked.bind_address, asked.port)
        identity = _credentials(asked)
        session = Session(asked, identity, console)
        return session.run([*server_flags(asked, port, identity), *asked.flags])


class Session:
    """One run of the server: what is told to the user and to the data directory as it gets ready and as it stops."""

    def __init__(self, asked: Up, identity: Credentials, console: Console) -> None:
        self.asked = asked
        self.identity = identity
        self.console = console
        self.state: State | None = None
        self.controllers: tuple[str, ...] = ()

    def run(self, arguments: Sequence[str]) -> int:
        options = _options(arguments)
        self.controllers = options.controllers

        gc.disable()  # until it serves: next to nothing that a start makes is garbage
        from kapi.app.run import run  # the server, which a bad flag should not wait for
        from kapi.telemetry.log import log

        home = self.asked.home
        _rotate(home.log)
        with home.log.open("a", encoding="utf-8") as stream:
            log.stream = stream
            log.verbosity, log.format = options.options.logs.v, options.options.logs.logging_format
            log.info("Version", kapi=__version__)
            for warning in options.warnings + options.pending:
                log.warning(warning)
            log.observer = self.logged
            try:
                return run(options, on_ready=self.ready)
            finally:
                log.observer = log.stream = None

    def ready(self, ready: Ready) -> None:
        asked, home = self.asked, self.asked.home
        url = client_url(asked.bind_address, ready.port)
        certificate, key = self.identity.admin
        access = kubeconfig.Access(url=url, ca=self.identity.ca, certificate=certificate, key=key)
        own = (asked.kubeconfig or home.kubeconfig).absolute()
        kubeconfig.write(own, access)
        merged = kubeconfig.default_path() if asked.merge else None
        backup = kubeconfig.merge(merged, access) if merged else None

        self.state = State(
            pid=os.getpid(),
            url=url,
            port=ready.port,
            started=time.time(),
            version=__version__,
            kubeconfig=str(own),
            log=str(home.log),
            store=_store(asked),
            controllers=self.controllers,
        )
        home.tell(self.state)
        report = {**_document(self.state), "seconds": round(ready.seconds, 3)}
        if merged:
            report |= {"merged": str(merged), "backup": str(backup) if backup else None}
        self.console.result(ready_lines(report), report)
        self.console.progress("Ctrl-C stops it; twice, at once.")

    def logged(self, event: str, fields: Mapping[str, object]) -> None:
        """What is waited for is in the log: people at the terminal are told of it, and `kapi down` of a shutdown."""
        with suppress(OSError):  # a full disk or a terminal that went away must not stop the server
            if event == "etcd_waiting":
                self.console.progress(f"waiting for the store, attempt {fields['attempt']}: {fields['error']}")
            elif event == "shutdown_phase":
                self._stopping(str(fields["phase"]))

    def _stopping(self, phase: str) -> None:
        waiting_for = WAITING_FOR.get(phase, phase)
        self.console.progress(f"stopping: {waiting_for}")
        if self.state:
            self.state = replace(self.state, phase=waiting_for)
            self.asked.home.tell(self.state)


def server_flags(asked: Up, port: int, identity: Credentials) -> list[str]:
    """What kube-apiserver is started with, before the flags of the user."""
    flags = [
        f"--bind-address={asked.bind_address}",
        f"--secure-port={port}",
        f"--data-dir={asked.home.directory}",
        f"--root-ca-file={identity.ca}",
        *identity.flags(),
    ]
    if asked.in_memory:
        flags.append("--storage-backend=memory")
    if flag_value(asked.flags, "in-process-controllers") is None:
        flags.append("--in-process-controllers=all")
    return flags


def ready_lines(report: dict[str, object]) -> list[str]:
    """The same report for people."""
    merged = report.get("merged")
    rows = [
        ("server", str(report["url"])),
        ("store", str(report["store"])),
        ("kubeconfig", str(report["kubeconfig"])),
        ("log", str(report["log"])),
    ]
    if merged:
        backup = report.get("backup")
        rows.append(("merged into", f"{merged} as context {kubeconfig.NAME}"))
        rows += [("backup", str(backup))] if backup else []
    use = f"kubectl config use-context {kubeconfig.NAME}" if merged else f"export KUBECONFIG={_quoted(report)}"
    return [
        f"kapi {report['version']} is ready after {report['seconds']} s",
        *table(rows),
        "Next:",
        f"  {use}",
        "  kubectl get namespaces",
    ]


def client_url(bind_address: str, port: int) -> str:
    """Where a client on this machine reaches it."""
    address = ipaddress.ip_address(bind_address)
    if address.is_unspecified:
        address = ipaddress.ip_address("::1" if address.version == 6 else "127.0.0.1")
    return f"https://[{address}]:{port}" if address.version == 6 else f"https://{address}:{port}"


def flag_value(flags: Sequence[str], name: str) -> str | None:
    """The last value given for a flag, in either form."""
    value = None
    for position, flag in enumerate(flags):
        if flag.startswith(f"--{name}="):
            value = flag.partition("=")[2]
        elif flag == f"--{name}" and position + 1 < len(flags):
            value = flags[position + 1]
    return value


def _options(arguments: Sequence[str]) -> CompletedOptions:
    """The flags, read, validated and completed as kube-apiserver does."""
    from kapi.options.complete import OptionsError, complete
    from kapi.options.parse import FlagError
    from kapi.options.server_run_options import ServerRunOptions
    from kapi.options.validate import validate

    advice = "`kube-apiserver --help` describes every flag that may follow --."
    try:
        options, parsed = ServerRunOptions.read(arguments)
        if errors := [*validate(options), *(f"unexpected argument: {word}" for word in parsed.arguments)]:
            raise Problem("\n      ".join(errors), advice)
        return complete(options)
    except FlagError as error:
        raise Problem(str(error), advice, code=EXIT_USAGE) from error
    except OptionsError as error:
        raise Problem(str(error), advice) from error


def _credentials(asked: Up) -> Credentials:
    ranges = flag_value(asked.flags, "service-cluster-ip-range") or "10.0.0.0/24"
    advertised = flag_value(asked.flags, "advertise-address")
    try:
        service_ip = credentials.service_address(ranges)
        addresses = [asked.bind_address, *([advertised] if advertised else [])]
        return credentials.prepare(asked.home.pki, service_ip=service_ip, addresses=addresses)
    except ValueError as error:
        raise Problem(f"not an address or range: {error}", code=EXIT_USAGE) from error


def _check_address(address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError as error:
        raise Problem(f"--bind-address is not an IP address: {address}", code=EXIT_USAGE) from error


def _store(asked: Up) -> str:
    backend = flag_value(asked.flags, "storage-backend")
    servers = flag_value(asked.flags, "etcd-servers")
    if servers and backend in (None, "etcd3"):
        return f"etcd at {servers}"
    if asked.in_memory or backend == "memory":
        return "memory"
    return str(flag_value(asked.flags, "data-dir") or asked.home.directory)


def _document(state: State) -> dict[str, object]:
    return {
        "pid": state.pid,
        "url": state.url,
        "port": state.port,
        "version": state.version,
        "store": state.store,
        "kubeconfig": state.kubeconfig,
        "log": state.log,
    }


def _quoted(report: dict[str, object]) -> str:
    import shlex  # macOS puts a space into the path

    return shlex.quote(str(report["kubeconfig"]))


def _rotate(log: Path) -> None:
    """One older log is kept, so that months of restarts do not fill the disk."""
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.replace(log.with_name(f"{log.name}.1"))
