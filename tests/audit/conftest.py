"""Servers that are audited, and a webhook that takes their events."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server_process import PATIENCE, Server
from tests.webhook_server import WebhookServer

Event = dict[str, Any]


class Audited:
    """A server and its audit log. In blocking mode an event is there when its response is."""

    def __init__(self, server: Server, log: Path) -> None:
        self.server = server
        self.log = log

    def events(self, audit_id: str = "") -> list[Event]:
        found = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [event for event in found if audit_id in ("", event["auditID"])]

    def event(self, audit_id: str) -> Event:
        """Without what a slow machine adds."""
        (only,) = self.events(audit_id)
        notes = only.get("annotations", {})
        for key in [key for key in notes if key.startswith("apiserver.latency.k8s.io/")]:
            del notes[key]
        return only


@pytest.fixture
def audited(tmp_path: Path, new_server: Callable[..., Server]) -> Callable[..., Audited]:
    """Starts a server: `audited([rule, …], "--flag", omitStages=[…])`."""

    def start(rules: list[Any], *flags: str, **policy: Any) -> Audited:
        log = tmp_path / "logs" / "audit.log"
        server = new_server(f"--audit-policy-file={policy_file(tmp_path, rules, **policy)}", "-v=2")
        return Audited(server.start(f"--audit-log-path={log}", *flags), log)

    return start


def policy_file(folder: Path, rules: list[Any], **more: Any) -> Path:
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules, **more}))
    return path


class Webhook:
    """Takes EventLists over TLS; answers with the statuses it is given, then with 200."""

    def __init__(self, server: WebhookServer, folder: Path) -> None:
        self.lists: queue.Queue[dict[str, Any]] = queue.Queue()
        self.server = server
        self.statuses: list[int] = []
        self._folder = folder
        server.replies["/audit"] = self._reply

    def _reply(self, sent: Any) -> tuple[int, bytes]:
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self.lists.put(sent)
        return status, b""

    @property
    def kubeconfig(self) -> Path:
        path = self._folder / "webhook.kubeconfig"
        cluster = {"server": f"{self.server.url}/audit", "certificate-authority": str(self.server.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sink", "cluster": cluster}],
            "users": [{"name": "server", "user": {"token": "sesame"}}],
            "contexts": [{"name": "sink", "context": {"cluster": "sink", "user": "server"}}],
            "current-context": "sink",
        }
        path.write_text(json.dumps(content))
        return path

    def event(self, audit_id: str) -> Event:
        """Wait for the event of that ID."""
        while True:
            for event in self.lists.get(timeout=PATIENCE)["items"]:
                if event["auditID"] == audit_id:
                    return dict(event)


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    with WebhookServer(tmp_path) as server:
        yield Webhook(server, tmp_path)
