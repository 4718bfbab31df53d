"""Patches: from a patch of one of four types and the stored object to the object that shall be."""

from __future__ import annotations

from typing import Any

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import invalid
from kapi.api.gvk import GroupKind
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.decode import Parsed, Unrecognised, strict_message
from kapi.endpoints.bodies import YAML, content_type
from kapi.endpoints.endpoint import Endpoint
from kapi.patch import json_patch, merge_patch, strategic_merge
from kapi.patch.apply.apply import Applier, apply
from kapi.patch.errors import ApplyConflict, PatchDoesNotApply, PatchError, TooManyOperations
from kapi.patch.values import copied, json_type
from kapi.registry.options import WriteOptions
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch

CONTENT_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_REJECTED = "the server rejected our request due to an error in our request"


def patch_type(call: Call) -> str:
    given = content_type(call)
    if given not in CONTENT_TYPES.values():
        error = errors.UnsupportedMediaType("415: Unsupported Media Type")
        error.details = {}
        raise error
    return given


class InvalidPatch(errors.APIError):
    """A 422 that tells no more."""

    code, reason = 422, "Invalid"

    def __init__(self) -> None:
        super().__init__(_REJECTED, details={})


class PatchFailed(errors.APIError):
    """A failure whose code the patch itself decides, without a reason."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Patching:
    """One patch request. It may be carried out several times, on newer and newer objects."""

    def __init__(self, call: Call, endpoint: Endpoint, kind: str, body: bytes, options: WriteOptions) -> None:
        self._call = call
        self._endpoint = endpoint
        self._kind = kind
        self._options = options
        if kind == CONTENT_TYPES["apply"]:
            self._patch = self._parse_config(body)
        else:
            self._patch = self._parse_patch(body)

    # Reading the patch

    def _parse_patch(self, body: bytes) -> Any:
        if self._kind == CONTENT_TYPES["json"]:
            return self._parse_json_patch(body)
        try:
            value = json.loads(body)
        except json.JSONError as error:
            strategic = self._kind == CONTENT_TYPES["strategic"]
            raise errors.BadRequest(f"error decoding patch: {error}" if strategic else "invalid JSON patch") from None
        if value is None and self._kind == CONTENT_TYPES["merge"]:
            raise errors.BadRequest("Invalid JSON Patch")
        if value is not None and not isinstance(value, dict):
            text = f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
            raise errors.BadRequest(f"error decoding patch: {text}")
        return value

    def _parse_json_patch(self, body: bytes) -> Any:
        try:
            value = json.loads(body)
            json_patch.operations(value)
        except TooManyOperations as error:
            raise errors.RequestEntityTooLarge(str(error)) from None
        except (json.JSONError, PatchError) as error:
            raise errors.BadRequest(f"error decoding patch: {error}") from None
        return value

    def _parse_config(self, body: bytes) -> Object:
        try:
            parsed = Parsed(body, YAML)
            value, problems = parsed.settle(None, self._options.field_validation)
        except Unrecognised as error:
            raise errors.BadRequest(f"error decoding YAML: {error}") from None
        if problems and self._options.field_validation == "Strict":
            raise errors.BadRequest(f"error strict decoding YAML: {', '.join(problems)}")
        for problem in problems:
            self._call.warn(problem)
        if not isinstance(value, dict):
            raise errors.BadRequest("error decoding YAML: the configuration is not an object")
        return value

    # Carrying it out

    def patched(self, live: Object | None) -> Object:
        assert live is not None, "only apply creates"
        try:
            new = self._merged(live)
        except PatchDoesNotApply:
            raise InvalidPatch from None
        except PatchError as error:
            raise PatchFailed(str(error), error.code) from None
        return self._settled(new)

    def _merged(self, live: Object) -> Any:
        if self._kind == CONTENT_TYPES["json"]:
            return json_patch.apply(live, self._patch)
        if self._kind == CONTENT_TYPES["merge"]:
            return merge_patch.apply(copied(live), self._patch)
        return strategic_merge.apply(live, self._patch, self._endpoint.resource.schema)

    def applied(self, live: Object | None) -> Object:
        resource = self._endpoint.resource
        subresource = self._call.info.subresource
        strategy = resource.subresources[subresource].strategy if subresource else resource.strategy
        by = Applier(
            manager=self._options.field_manager,
            api_version=str(resource.group_version),
            kind=resource.kind,
            now=rfc3339(self._endpoint.store.clock.now()),
            force=self._options.force,
            subresource=subresource,
            reset=strategy.reset,
        )
        try:
            new = apply(live, self._patch, resource.schema, by)
        except ApplyConflict as conflict:
            raise _apply_conflict(conflict) from None
        except PatchError as error:
            if error.code == 400:
                raise errors.BadRequest(str(error)) from None
            raise PatchFailed(str(error), error.code) from None
        return self._settled(new)

    def _settled(self, new: Any) -> Object:
        """The patched object, decoded as if it had been sent."""
        resource = self._endpoint.resource
        if not isinstance(new, dict):
            raise self._unfit(new, f"json: cannot unmarshal {json_type(new)} into Go value")
        if new.get("kind") != resource.kind or new.get("apiVersion") != str(resource.group_version):
            said = f"{new.get('apiVersion')}, Kind={new.get('kind')}"
            raise self._unfit(new, f"unable to decode as {resource.kind}: it says {said}")
        shown = orjson.dumps(new)
        try:
            unknown = [f'unknown field "{path}"' for path in decode(resource.schema, new)]
        except TypeMismatch as mismatch:
            raise self._unfit(orjson.loads(shown), mismatch.message) from None
        if unknown and self._options.field_validation == "Strict":
            raise self._unfit(new, strict_message(unknown))
        if self._options.field_validation == "Warn":
            for problem in unknown:
                self._call.warn(problem)
        if not isinstance(new.get("metadata"), dict):
            new["metadata"] = {}
        if resource.strategy.default is not None:
            resource.strategy.default(new)
        return new

    @staticmethod
    def _unfit(new: Any, why: str) -> errors.Invalid:
        shown = orjson.dumps(new).decode()
        return errors.Invalid(GroupKind("", ""), "", [invalid("patch", shown, why)])


def _apply_conflict(conflict: ApplyConflict) -> errors.APIError:
    error = errors.APIError(str(conflict), details={"causes": conflict.causes})
    error.code, error.reason = 409, "Conflict"
    return error
