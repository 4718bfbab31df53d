"""Storage errors as the API errors that clients are told, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kapi.api import errors
from kapi.api.gvk import GroupResource
from kapi.storage import kv
from kapi.storage.cacher.cacher import NotReady
from kapi.storage.objects import ContinuationExpired

TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class ContinueExpired(errors.Expired):
    """A 410 whose metadata carries the token to go on with."""

    def __init__(self, token: str) -> None:
        super().__init__(CONTINUE_TOO_OLD)
        self.token = token

    @property
    def status(self) -> dict[str, object]:
        return {**super().status, "metadata": {"continue": self.token}}


def too_large_resource_version(wanted: int, current: int) -> errors.Timeout:
    error = errors.Timeout(f"Too large resource version: {wanted}, current: {current}", retry_after=1)
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    error.details = {"causes": [cause], "retryAfterSeconds": 1}
    return error


@contextmanager
def storage_errors(resource: GroupResource, name: str = "", *, wanted: int = 0) -> Iterator[None]:
    try:
        yield
    except kv.NotFound:
        raise errors.NotFound(resource, name) from None
    except kv.KeyExists:
        raise errors.AlreadyExists(resource, name) from None
    except ContinuationExpired as expired:
        raise ContinueExpired(expired.token) from None
    except kv.Compacted:
        raise errors.Expired(TOO_OLD) from None
    except kv.FutureRevision as future:
        raise too_large_resource_version(wanted, future.current) from None
    except NotReady as not_ready:
        raise errors.TooManyRequests(str(not_ready)) from None
    except kv.TooLarge as large:
        raise errors.RequestEntityTooLarge(f"Request entity too large: {large}") from None
    except kv.NoSpace as full:
        raise errors.InternalError(str(full)) from full
    except kv.StorageError as failed:
        raise errors.ServiceUnavailable(str(failed)) from failed
