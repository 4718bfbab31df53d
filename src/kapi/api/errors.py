"""Every failure that a client sees: a class per Status reason, with its code and its message.

Raised anywhere below the HTTP layer; turned into a Status body once, by `endpoints.respond`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapi.api.fields import FieldError
from kapi.api.gvk import GroupKind, GroupResource
from kapi.api.objects import Object


class APIError(Exception):
    """A failed request: what its Status says."""

    code = 500
    reason = ""

    def __init__(self, message: str, *, details: Object | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after: int | None = None

    @property
    def status(self) -> Object:
        body: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.message:
            body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _details(resource: GroupResource, name: str, **more: Any) -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    if resource.resource:
        details["kind"] = resource.resource
    return {**details, **more}


class BadRequest(APIError):
    code, reason = 400, "BadRequest"


class Unauthorized(APIError):
    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


class Forbidden(APIError):
    code, reason = 403, "Forbidden"

    def __init__(self, resource: GroupResource, name: str, why: str) -> None:
        if not resource.resource:
            message = f"forbidden: {why}"
        elif name:
            message = f'{resource} "{name}" is forbidden: {why}'
        else:
            message = f"{resource} is forbidden: {why}"
        super().__init__(message, details=_details(resource, name))


class NotFound(APIError):
    code, reason = 404, "NotFound"

    def __init__(self, resource: GroupResource, name: str) -> None:
        super().__init__(f'{resource} "{name}" not found', details=_details(resource, name))


class UnknownResource(APIError):
    """The path names nothing that this server serves."""

    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource", details={})


class MethodNotAllowed(APIError):
    code, reason = 405, "MethodNotAllowed"

    def __init__(self, message: str = "the server does not allow this method on the requested resource") -> None:
        super().__init__(message, details={})


class NotAcceptable(APIError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(APIError):
    code, reason = 409, "AlreadyExists"

    def __init__(self, resource: GroupResource, name: str) -> None:
        super().__init__(f'{resource} "{name}" already exists', details=_details(resource, name))


class Conflict(APIError):
    code, reason = 409, "Conflict"

    def __init__(self, resource: GroupResource, name: str, why: str, *, causes: Sequence[Object] = ()) -> None:
        message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
        details = _details(resource, name, **({"causes": list(causes)} if causes else {}))
        super().__init__(message, details=details)


class Expired(APIError):
    """The resourceVersion asked for is no longer there."""

    code, reason = 410, "Expired"


class RequestEntityTooLarge(APIError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(APIError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(APIError):
    code, reason = 422, "Invalid"

    def __init__(self, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> None:
        self.errors = errors
        # What is found twice is said once.
        distinct = {str(e): e for e in errors}
        texts = list(distinct)
        summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        details: Object = {}
        if name:
            details["name"] = name
        if kind.group:
            details["group"] = kind.group
        if kind.kind:
            details["kind"] = kind.kind
        details["causes"] = [e.cause for e in distinct.values()]
        super().__init__(f'{kind} "{name}" is invalid: {summary}', details=details)


class TooManyRequests(APIError):
    code, reason = 429, "TooManyRequests"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, details={"retryAfterSeconds": retry_after} if retry_after else {})
        self.retry_after = retry_after


class InternalError(APIError):
    code, reason = 500, "InternalError"

    def __init__(self, message: str) -> None:
        super().__init__(f"Internal error occurred: {message}", details={"causes": [{"message": message}]})


class StorageReadError(APIError):
    """Something stored cannot be read."""

    code, reason = 500, "StorageReadError"


class ServiceUnavailable(APIError):
    code, reason = 503, "ServiceUnavailable"


class Timeout(APIError):
    """The request did not finish in the time it had."""

    code, reason = 504, "Timeout"

    def __init__(self, message: str, retry_after: int = 0) -> None:
        super().__init__(f"Timeout: {message}", details={"retryAfterSeconds": retry_after} if retry_after else {})
        self.retry_after = retry_after or None


class ServerTimeout(APIError):
    """The server could not do it just now; the client may try again."""

    code, reason = 500, "ServerTimeout"

    def __init__(self, resource: GroupResource, operation: str, retry_after: int = 0) -> None:
        details: Object = {}
        if resource.group:
            details["group"] = resource.group
        if resource.resource:
            details["kind"] = resource.resource
        if retry_after:
            details["retryAfterSeconds"] = retry_after
        super().__init__(
            f"The {operation} operation against {resource} could not be completed at this time, please try again.",
            details=details,
        )
        self.retry_after = retry_after or None
