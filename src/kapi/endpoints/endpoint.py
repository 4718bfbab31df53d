"""Endpoint: one served resource in one version, with all that its handlers need."""

from __future__ import annotations

from dataclasses import dataclass

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.endpoints.negotiate import Form, negotiate, negotiate_stream
from kapi.endpoints.render import Renderer
from kapi.registry.resource import Resource
from kapi.registry.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What requests may ask for."""

    body_bytes: int = 3 * 1024 * 1024
    min_watch_seconds: float = 1800.0
    delete_workers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`store` keeps objects in the stored version; `resource` is the version that is served here."""

    resource: Resource
    store: Store
    renderer: Renderer
    limits: Limits

    def form(self, call: Call, *, listed: bool = False) -> Form:
        """In which form the client wants this resource's objects."""
        is_built_in = self.resource.untyped is None
        accept = call.request.headers.get("accept")
        return negotiate(accept, listed=listed, routed=is_built_in, binary=is_built_in)

    def stream_form(self, call: Call) -> Form:
        """In which form the client wants to be told of changes."""
        return negotiate_stream(call.request.headers.get("accept"), binary=self.resource.untyped is None)

    def to_stored(self, new: Object) -> Object:
        conversion = self.resource.conversion
        return new if conversion is None else conversion.to_stored(new)

    def from_stored(self, stored: Object) -> Object:
        conversion = self.resource.conversion
        return stored if conversion is None else conversion.from_stored(stored)
