"""A webhook over real TLS, on a port of its own: answers are functions, and what came is kept."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kapi.wire.pki import ensure_self_signed

# From the review that came to the review that is answered, or to a status and a body of any kind.
Reply = Callable[[Any], Any]


class WebhookServer:
    """Used in a `with`. Paths without a reply are answered with 404."""

    def __init__(self, directory: Path) -> None:
        certificate, key = ensure_self_signed(directory, "webhook", "localhost", [], ["127.0.0.1"])
        self.replies: dict[str, Reply] = {}
        self.seen: list[tuple[str, Any]] = []  # path and review, in the order in which they came
        self.headers: list[dict[str, str]] = []
        self.ca_bundle = base64.b64encode(certificate.read_bytes()).decode()
        self.ca_file = certificate
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> WebhookServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def client_config(self, path: str) -> dict[str, Any]:
        return {"url": self.url + path, "caBundle": self.ca_bundle}

    def taken(self) -> list[tuple[str, Any]]:
        """What came since the last time this was asked."""
        seen, self.seen[:] = list(self.seen), []
        return seen

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path = self.path.partition("?")[0]
                webhook.seen.append((path, review))
                webhook.headers.append(dict(self.headers))
                reply = webhook.replies.get(path)
                answer = reply(review) if reply is not None else (404, b"no such webhook")
                status, body = answer if isinstance(answer, tuple) else (200, json.dumps(answer).encode())
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet: what came is in `seen`."""

        return Handler
