"""From the listening port to the last drained request, over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from kapi.api.clock import SystemClock
from kapi.audit.auditor import Auditor
from kapi.audit.policy import Policy
from kapi.server.config import Serving
from kapi.server.hooks import HookFailed
from kapi.server.server import GenericServer
from kapi.server.systemd import notify
from kapi.telemetry.audit import AuditMetrics
from kapi.telemetry.metrics import Registry
from kapi.wire.bind import Bind
from kapi.wire.messages import Response


class Sink:
    """Tells when it was started and stopped."""

    def __init__(self):
        self.events = []

    async def start(self):
        self.events.append("audit-started")

    async def stop(self):
        self.events.append("audit-stopped")

    async def process(self, events):
        return True


class Running:
    """A server on a free port, with handlers that tests can hold open."""

    def __init__(self, new_config, **more):
        self.audit = Sink()
        more.setdefault("request_timeout", 5.0)
        auditor = Auditor(Policy(()), self.audit, AuditMetrics(Registry()), SystemClock())
        self.config = new_config(secure_serving=Serving(bind=Bind(host="127.0.0.1", port=0)), audit=auditor, **more)
        self.life = self.config.lifecycle
        self.server = GenericServer("kube", self.config)
        self.stop = asyncio.Event()
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()
        self.server.routes.exact["/slow"] = self._slow
        self.server.api_groups["", "v1"] = self._watch

    async def _slow(self, call):
        self.arrived.set()
        await self.release.wait()
        return Response(200, [], b"done")

    async def _watch(self, call):
        async def stream(output):
            await output.write(b"event\n")
            self.arrived.set()
            await asyncio.Event().wait()

        return Response(200, [], stream=stream)

    @property
    def port(self):
        return self.life.listeners[0].port

    @contextlib.asynccontextmanager
    async def run(self):
        task = asyncio.ensure_future(self.server.prepare_run().run(self.stop))
        serving = asyncio.ensure_future(self.life.serving.wait())
        await asyncio.wait((task, serving), return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        try:
            yield task
        finally:
            self.stop.set()
            self.release.set()
            await task


def phases(log):
    return re.findall(r'"shutdown_phase" phase="([a-z-]+)"', log.stream.getvalue())


def test_shutdown_goes_through_its_phases_in_order(new_config, log):
    async def main():
        running = Running(new_config)
        async with running.run():
            pass
        assert running.audit.events == ["audit-started", "audit-stopped"]
        assert running.life.drained.is_set() and running.life.stopped.is_set()

    asyncio.run(main())
    assert " ".join(phases(log)) == (
        "fail-readiness delay stop-accepting drain close-connections stop-background stop-audit"
    )
    assert "shutdown_complete" in log.stream.getvalue()


def test_a_request_in_flight_is_answered_before_the_server_ends(new_config, fetch):
    async def main():
        running = Running(new_config)
        async with running.run() as task:
            slow = asyncio.ensure_future(fetch(running.port, "/slow"))
            await running.arrived.wait()
            running.stop.set()
            await running.life.not_accepting_requests.wait()
            assert not task.done()
            assert running.audit.events == ["audit-started"]
            with pytest.raises(OSError):
                await fetch(running.port, "/healthz")
            running.release.set()
            assert await slow == (200, b"done")
            await task
            assert running.audit.events == ["audit-started", "audit-stopped"]

    asyncio.run(main())


def test_during_the_delay_readyz_fails_and_everything_is_served(new_config, fetch):
    async def main():
        running = Running(new_config, shutdown_delay=0.3)
        async with running.run():
            assert (await fetch(running.port, "/readyz"))[0] == 200
            running.stop.set()
            await running.life.shutdown_initiated.wait()
            status, text = await fetch(running.port, "/readyz")
            assert status == 500
            assert b"[-]shutdown failed: reason withheld" in text
            assert (await fetch(running.port, "/version"))[0] == 200
            assert (await fetch(running.port, "/livez"))[0] == 200
            assert not running.life.not_accepting_requests.is_set()

    asyncio.run(main())


def test_pre_shutdown_hooks_run_while_the_server_serves_and_a_failing_one_stops_nothing(new_config, fetch, log):
    async def main():
        running = Running(new_config)
        told = []

        async def leave():
            told.append((await running.config.loopback.get("/version"))["minor"])
            told.append((await fetch(running.port, "/livez"))[0])

        async def fail():
            raise LookupError("no lease")

        running.server.add_pre_shutdown_hook("leave", leave)
        running.server.add_pre_shutdown_hook("fail", fail)
        async with running.run():
            pass
        assert told == ["37", 200]

    asyncio.run(main())
    assert "no lease" in log.stream.getvalue()
    assert phases(log)[-1] == "stop-audit"


@pytest.mark.parametrize("grace", [0.0, 0.2])
def test_watches_end_cleanly(new_config, grace):
    async def main():
        running = Running(new_config, shutdown_watch_grace_period=grace)
        async with running.run():
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            writer.write(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            await running.arrived.wait()
            running.stop.set()
            answer = await reader.read()
            assert answer.endswith(b"6\r\nevent\n\r\n0\r\n\r\n")
            writer.close()

    asyncio.run(main())


def test_with_retry_after_new_requests_are_answered_while_old_ones_drain(new_config, fetch):
    async def main():
        running = Running(new_config, shutdown_send_retry_after=True)
        async with running.run():
            slow = asyncio.ensure_future(fetch(running.port, "/slow"))
            await running.arrived.wait()
            running.stop.set()
            await running.life.not_accepting_requests.wait()
            status, text = await fetch(running.port, "/version")
            assert (status, text) == (429, b"The apiserver is shutting down, please try again later.\n")
            assert (await fetch(running.port, "/livez"))[0] == 200
            running.release.set()
            assert await slow == (200, b"done")

    asyncio.run(main())


def test_a_request_that_never_ends_is_cut_at_the_request_timeout(new_config, fetch, log):
    async def main():
        running = Running(new_config, request_timeout=0.1)
        running.server.routes.exact["/debug/pprof/stuck"] = running._slow  # long-running: it has no deadline
        async with running.run() as task:
            stuck = asyncio.ensure_future(fetch(running.port, "/debug/pprof/stuck"))
            await running.arrived.wait()
            running.stop.set()
            await task
            with pytest.raises((OSError, IndexError)):
                await stuck

    asyncio.run(main())
    assert "connections_cut" in log.stream.getvalue()


def test_readiness_waits_for_the_post_start_hooks(new_config, fetch):
    async def main():
        running = Running(new_config)
        proceed = asyncio.Event()

        async def hook(context):
            await context.client.get("/version")
            await proceed.wait()

        running.server.add_post_start_hook("slow-start", hook)
        async with running.run():
            assert (await fetch(running.port, "/readyz"))[0] == 500
            assert (await fetch(running.port, "/livez?exclude=poststarthook/slow-start"))[0] == 200
            proceed.set()
            while (await fetch(running.port, "/readyz"))[0] != 200:
                await asyncio.sleep(0)

    asyncio.run(main())


def test_what_a_hook_spawned_goes_on_until_the_end(new_config):
    async def main():
        running = Running(new_config)
        seen = []

        async def controller(context):
            try:
                await asyncio.Event().wait()
            finally:
                seen.append((context.stopped.is_set(), running.life.drained.is_set()))

        async def hook(context):
            context.spawn(controller(context), "controller")

        running.server.add_post_start_hook("start-controller", hook)
        async with running.run():
            assert seen == []
        assert seen == [(True, True)]

    asyncio.run(main())


def test_a_hook_that_fails_ends_the_server_with_its_reason(new_config, fetch):
    async def main():
        running = Running(new_config)

        async def hook(context):
            raise LookupError("namespace is gone")

        running.server.add_post_start_hook("bootstrap", hook)
        with pytest.raises(HookFailed, match='PostStartHook "bootstrap" failed: namespace is gone'):
            await running.server.prepare_run().run(running.stop)
        with pytest.raises(OSError):
            await fetch(running.port, "/livez")

    asyncio.run(main())


def test_a_hook_that_is_still_at_work_does_not_hold_up_the_end(new_config):
    async def main():
        running = Running(new_config)

        async def hook(context):
            await asyncio.Event().wait()

        running.server.add_post_start_hook("endless", hook)
        async with running.run():
            pass

    asyncio.run(main())


def test_a_port_that_is_taken_is_an_error(new_config):
    with socket.create_server(("127.0.0.1", 0)) as taken:

        async def main():
            config = new_config(secure_serving=Serving(bind=Bind(host="127.0.0.1", port=taken.getsockname()[1])))
            await GenericServer("kube", config).prepare_run().run(asyncio.Event())

        with pytest.raises(OSError, match="in use"):
            asyncio.run(main())


def test_the_insecure_port_is_served_beside_the_other(new_config, fetch):
    async def main():
        class Nobody:
            def at_once(self, call):
                return None

            async def authenticate(self, call):
                return None

        insecure_serving = Serving(bind=Bind(host="127.0.0.1", port=0))
        running = Running(new_config, insecure_serving=insecure_serving, authenticator=Nobody())
        async with running.run():
            secure, insecure = (listener.port for listener in running.life.listeners)
            assert (await fetch(secure, "/version"))[0] == 401
            assert (await fetch(insecure, "/version"))[0] == 200

    asyncio.run(main())


# --- systemd and signals


def test_systemd_is_told_what_happens(tmp_path, new_config, monkeypatch):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", path)

        async def main():
            async with Running(new_config).run():
                assert manager.recv(100) == b"READY=1"
            assert manager.recv(100) == b"STOPPING=1"

        asyncio.run(main())


def test_without_systemd_nobody_is_told_and_a_dead_socket_does_no_harm(tmp_path, capsys):
    assert not notify("READY=1", {})
    assert not notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})
    assert "systemd_notify_failed" in capsys.readouterr().err


SIGNALLED = """
import asyncio
from kapi.server.signals import stop_on_signals

async def main():
    stop = asyncio.Event()
    stop_on_signals(stop)
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    await asyncio.sleep({seconds})

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("seconds", "signals", "code"), [(0, 1, 0), (60, 2, 1)])
def test_the_first_signal_stops_gracefully_and_the_second_at_once(number, seconds, signals, code):
    script = SIGNALLED.format(seconds=seconds)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in ("ready\n", "stopping\n")[:signals]:
            assert process.stdout.readline() == line
            os.kill(process.pid, number)
        assert process.wait(10) == code
