"""The state of one request, as it travels down the handler chain and into the handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.settings import DEFAULT
from kapi.api.user import User


class Headers(Protocol):
    """Request headers, by lower-case name."""

    def get(self, name: str) -> str | None:
        """The first value, or None."""

    def get_all(self, name: str) -> list[str]: ...

    def mentions(self, name: bytes) -> bool:
        """Whether a name may have this part in it; False is certain."""

    def names(self) -> list[str]:
        """Each name once."""


class Connection(Protocol):
    """What the connection a request came on knows about its peer. `identity` caches what authentication found."""

    remote: tuple[str, int]
    secure: bool
    identity: Any

    def peer_certificate(self) -> bytes | None:
        """The client's leaf certificate, DER, not verified."""

    def peer_intermediates(self) -> list[bytes]:
        """What else the client sent to lead from its certificate to a CA: DER, not verified."""

    def go_away(self) -> None:
        """Ask the client to open a new connection for its next request."""


class Request(Protocol):
    """What the wire hands over."""

    method: str
    path: str  # as sent, percent-encoded, without the query
    query: str  # as sent, without the question mark
    connection: Connection
    protocol: str  # HTTP/1.1 or HTTP/2.0

    @property
    def headers(self) -> Headers: ...

    async def body(self, limit: int) -> bytes:
        """The whole body; raises wire's BodyTooLarge when it exceeds the limit."""

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call this once when the client goes away before the response has ended."""


def _nothing() -> None:
    """Nobody wants to know."""


def _nothing_to_say(call: Call) -> None:
    """Nobody listens."""


class AuditRecord(Protocol):
    """What is written down about a request that is audited; handlers add what only they know."""

    takes_requests: bool  # whether the objects of requests are kept
    takes_responses: bool  # and those of responses

    def impersonated(self, user: User, constraint: str) -> None:
        """The requester acts as somebody else."""

    def request_object(self, obj: Object) -> None:
        """The object that was sent, decoded and defaulted but not yet changed."""

    def request_patch(self, patch: Any) -> None: ...

    def response_object(self, body: bytes) -> None:
        """The document that is answered with, as JSON, in whatever form it is sent."""

    def spent(self, layer: str, seconds: float) -> None:
        """Time that the request spent in a layer of the server; told if it took long in all."""

    def response_parts(self, parts: Iterable[bytes]) -> Iterable[bytes]:
        """The parts of such a document, looked at on their way."""


class Answer(Protocol):
    """What a filter may want to know of the response."""

    status: int
    body: bytes


class Call:
    """One request: what was asked, by whom, by when, and what the answer shall carry besides its body.

    A filter that must act when the whole response, streams included, has been sent appends to `finished`.
    """

    __slots__ = (
        "annotations",
        "audit",
        "audit_id",
        "deadline",
        "finished",
        "headers",
        "info",
        "initialized",
        "long_running",
        "params",
        "received",
        "request",
        "response",
        "settings",
        "user",
        "warned",
        "warnings",
    )

    request: Request
    info: RequestInfo
    user: User
    audit_id: str
    received: float  # monotonic
    deadline: float | None  # monotonic; None for long-running requests
    long_running: bool
    params: dict[str, list[str]]  # the query, decoded

    def __init__(self, request: Request, received: float) -> None:
        self.request = request
        self.received = received
        self.audit_id = ""
        self.audit: AuditRecord | None = None
        self.deadline = None
        self.settings = DEFAULT
        self.long_running = False
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.initialized: Callable[[], None] = _nothing  # called once a watch has sent what there was at its start
        self.headers: list[tuple[bytes, bytes]] = []  # the response's, those that the handler sets itself excepted
        self.warned: Callable[[Call], None] = _nothing_to_say  # called with every warning
        self.response: Answer | None = None  # once there is one
        self.finished: list[Callable[[Call, int], None]] = []  # called with the response's status

    def warn(self, text: str) -> None:
        """Add a Warning header to the response; the same text is said once."""
        if text and text not in self.warnings:
            self.warnings.append(text)
            self.warned(self)
