"""A webhook over real TLS, on a port of its own: answers are functions, and what came is kept."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.https_server import Asked, HTTPSServer

# From the review that came to the review that is answered, or to a status and a body of any kind.
Reply = Callable[[Any], Any]


class WebhookServer:
    """Used in a `with`. Paths without a reply are answered with 404."""

    def __init__(self, directory: Path) -> None:
        self.replies: dict[str, Reply] = {}
        self.seen: list[tuple[str, Any]] = []  # path and review, in the order in which they came
        self.headers: list[dict[str, str]] = []
        self._server = HTTPSServer(directory / "webhook", self._answer)
        self.url, self.port = self._server.url, self._server.server.server_port
        self.ca_file = self._server.ca.ensure()
        self.ca_bundle = base64.b64encode(self.ca_file.read_bytes()).decode()

    def __enter__(self) -> WebhookServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def client_config(self, path: str) -> dict[str, Any]:
        return {"url": self.url + path, "caBundle": self.ca_bundle}

    def taken(self) -> list[tuple[str, Any]]:
        """What came since the last time this was asked."""
        seen, self.seen[:] = list(self.seen), []
        return seen

    def _answer(self, asked: Asked) -> tuple[int, Any]:
        path = asked.path.partition("?")[0]
        self.seen.append((path, asked.body))
        self.headers.append(asked.headers)
        reply = self.replies.get(path)
        answer = reply(asked.body) if reply is not None else (404, b"no such webhook")
        return answer if isinstance(answer, tuple) else (200, answer)
