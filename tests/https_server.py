"""A real HTTPS server in a thread, for tests that need somebody else to answer: webhooks, token issuers."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from kapi.wire.pki import Authority


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class HTTPSServer:
    """`answer` gives a status, a body (bytes, or what becomes JSON) and, if it likes, headers."""

    def __init__(self, folder: Path, answer: Callable[[Asked], tuple[Any, ...]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.answer = answer
        self.asked: list[Asked] = []
        self.ca = Authority(folder / "pki")
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.ca.issue_server(["localhost"], ["127.0.0.1"]))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def ca_pem(self) -> str:
        return self.ca.ensure().read_text()

    def kubeconfig(self, path: str = "", **user: str) -> Path:
        """A file that leads here."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "it", "cluster": {"server": self.url + path, "certificate-authority": str(self.ca.ensure())}}
            ],
            "users": [{"name": "us", "user": user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "us"}}],
            "current-context": "it",
        }
        file = self.folder / "kubeconfig"
        file.write_text(json.dumps(content))
        return file

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.reply()

            def do_GET(self) -> None:
                self.reply()

            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, json.loads(body) if body else None)
                outer.asked.append(asked)
                status, answer, *more = outer.answer(asked)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in more[0].items() if more else ():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None: ...

        return Handler
