"""Storage errors as the API errors that clients are told, in one place."""

from __future__ import annotations

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

_READABLE = "AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage"


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


def unreadable(resource: GroupResource, corrupt: kv.CorruptObjects) -> errors.StorageReadError:
    """A list with values that cannot be read: each one is a cause."""
    error = errors.StorageReadError(f"failed to read one or more {resource} from the storage: {corrupt}")
    causes = [{"reason": "UnexpectedServerResponse", "message": e.report, "field": e.key} for e in corrupt.errors]
    if not corrupt.complete:
        causes.append({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})
    error.details = {"name": "list", "kind": resource.resource, "causes": causes}
    if resource.group:
        error.details["group"] = resource.group
    return error


class storage_errors:
    """A context in which storage errors become API errors. A class, because every read enters one."""

    __slots__ = ("_name", "_resource", "_updating", "_wanted")

    def __init__(self, resource: GroupResource, name: str = "", *, wanted: int = 0, updating: bool = False) -> None:
        self._resource = resource
        self._name = name
        self._wanted = wanted
        self._updating = updating

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, kv.StorageError):
            raise self._translated(error) from error

    def _translated(self, error: kv.StorageError) -> errors.APIError:
        match error:
            case kv.NotFound():
                return errors.NotFound(self._resource, self._name)
            case kv.KeyExists():
                return errors.AlreadyExists(self._resource, self._name)
            case ContinuationExpired():
                return ContinueExpired(error.token)
            case kv.Compacted():
                return errors.Expired(TOO_OLD)
            case kv.FutureRevision():
                return too_large_resource_version(self._wanted, error.current)
            case NotReady():
                return errors.TooManyRequests(str(error))
            case kv.TooLarge():
                # As upstream, whatever the engine: clients look for these words.
                return errors.APIError("etcdserver: request is too large")
            case kv.Unstorable():
                return errors.APIError(str(error))
            case kv.NoSpace() | kv.EncryptionFailed():
                return errors.InternalError(str(error))
            case kv.Readable():
                why = f"StorageError: invalid object, Code: 4, Key: {error.key}, ResourceVersion: 0, {_READABLE}"
                return errors.Conflict(self._resource, self._name, why)
            case kv.Corrupt():
                return errors.InternalError(str(error) if self._updating else error.report)
            case kv.CorruptObjects():
                return unreadable(self._resource, error)
            case _:
                return errors.ServiceUnavailable(str(error))
