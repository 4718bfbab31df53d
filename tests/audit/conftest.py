"""Servers that are audited, and a webhook that takes their events."""

from __future__ import annotations

import json
import queue
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapi.wire.pki import Authority
from tests.server_process import PATIENCE, Server

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
        (only,) = self.events(audit_id)
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

    def __init__(self, folder: Path) -> None:
        self.lists: queue.Queue[dict[str, Any]] = queue.Queue()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.statuses: list[int] = []
        self._authority = Authority(folder / "webhook-pki")
        certificate, key = self._authority.issue_server(["localhost"], ["127.0.0.1"])
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._folder = folder
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def _handler(webhook) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                webhook.requests.append((self.path, dict(self.headers)))
                status = webhook.statuses.pop(0) if webhook.statuses else 200
                if status == 200:
                    webhook.lists.put(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Not into the tests' output."""

        return Handler

    @property
    def kubeconfig(self) -> Path:
        path = self._folder / "webhook.kubeconfig"
        cluster = {
            "server": f"https://127.0.0.1:{self._http.server_address[1]}/audit",
            "certificate-authority": str(self._authority.ensure()),
        }
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

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    made = Webhook(tmp_path)
    yield made
    made.close()
