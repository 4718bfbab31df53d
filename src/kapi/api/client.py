"""A client of the API, as hooks, controllers and admission see it: objects in, objects out, errors raised."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from kapi.api import errors
from kapi.api.errors import APIError
from kapi.api.objects import Object

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Client(Protocol):
    """Paths are those of the REST API (`/api/v1/namespaces/default`); parameters are the query."""

    async def get(self, path: str, **params: str) -> Object: ...

    async def list(self, path: str, **params: str) -> Object: ...

    def watch(self, path: str, **params: str) -> AsyncIterator[Object]:
        """The events, each with `type` and `object`, until the server ends the watch."""

    async def create(self, path: str, obj: Object, **params: str) -> Object: ...

    async def update(self, path: str, obj: Object, **params: str) -> Object: ...

    async def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH, **params: str) -> Object: ...

    async def delete(self, path: str, options: Object | None = None, **params: str) -> Object: ...


_BY_REASON: dict[str, type[APIError]] = {
    kind.reason: kind
    for kind in (
        errors.BadRequest,
        errors.Unauthorized,
        errors.Forbidden,
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.NotAcceptable,
        errors.AlreadyExists,
        errors.Conflict,
        errors.Expired,
        errors.RequestEntityTooLarge,
        errors.UnsupportedMediaType,
        errors.Invalid,
        errors.TooManyRequests,
        errors.InternalError,
        errors.ServiceUnavailable,
        errors.Timeout,
        errors.ServerTimeout,
    )
}


def error_from_status(status: Object) -> APIError:
    """The error that a Status body tells of, of the class that its reason names."""
    kind = _BY_REASON.get(status.get("reason", ""), APIError)
    error = kind.__new__(kind)
    # The subclasses build their message from its parts; here it is whole already.
    APIError.__init__(error, status.get("message", ""), details=status.get("details"))
    error.code = status.get("code", kind.code)
    error.retry_after = (status.get("details") or {}).get("retryAfterSeconds")
    return error
