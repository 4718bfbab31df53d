"""Patches: from a patch of one of four types and the stored object to the object that shall be."""

from __future__ import annotations

import re
from typing import Any

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import invalid
from kapi.api.gvk import GroupKind, GroupVersionKind
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.decode import (
    Parsed,
    Unrecognised,
    as_warnings,
    no_conversion,
    said_kind,
    strict_message,
    unknown_kind,
)
from kapi.codec.strict import strict_problems
from kapi.endpoints.bodies import YAML, content_type, deduplicate_owners, name_undeterminable
from kapi.endpoints.endpoint import Endpoint
from kapi.patch import json_patch, merge_patch, strategic_merge
from kapi.patch.apply.apply import Applier, apply, unconvertible
from kapi.patch.errors import ApplyConflict, PatchDoesNotApply, PatchError, TooManyOperations
from kapi.patch.values import copied, go_format, json_type
from kapi.registry.options import WriteOptions
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import UnknownType, type_of
from kapi.schema.types import Field, Type

CONTENT_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_REJECTED = "the server rejected our request due to an error in our request"


_CUSTOM_FORMATS = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)


def patch_type(call: Call, *, is_custom: bool = False) -> str:
    """Custom resources have no strategic merge: that needs a built-in type."""
    given = content_type(call)
    if is_custom and (given not in CONTENT_TYPES.values() or given == CONTENT_TYPES["strategic"]):
        raise errors.UnsupportedMediaType(_CUSTOM_FORMATS)
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
        self._problems: list[str] = []  # fields that stand twice in the patch, or mean nothing there
        self._doubled: list[str] = []  # the same of an applied configuration, judged once it has been applied
        # As upstream: only what is no JSON or YAML at all is refused before the object has been found.
        self._refusal: errors.APIError | None = None
        self._live: Object = {}  # what is patched, as long as that may fail
        self._patch = self._parse_config(body) if kind == CONTENT_TYPES["apply"] else self._parse_patch(body)
        if call.audit is not None:
            call.audit.request_patch(self._patch)

    # Reading the patch

    def _parse_patch(self, body: bytes) -> Any:
        try:
            value, exactly = json.parse(body)
        except json.JSONError as error:
            raise errors.BadRequest("invalid JSON patch") from error
        why = self._unreadable(value, json.first_infinite(value) if exactly else "")
        if why:
            self._refusal = errors.BadRequest(why)
        elif self._options.field_validation != "Ignore":
            self._problems = self._strict_problems(body, value)
        return value

    def _unreadable(self, value: Any, infinite: str) -> str:
        """Why the JSON is no patch of its type; empty when it is one."""
        is_lenient = self._options.field_validation == "Ignore"
        prefix = "" if self._kind == CONTENT_TYPES["strategic"] else "error decoding patch: "
        if self._kind == CONTENT_TYPES["json"]:
            mistyped = "" if is_lenient else json_patch.mistyped(value)
        elif self._kind == CONTENT_TYPES["merge"] and value is None:
            return "Invalid JSON Patch"
        else:
            is_taken = value is None or isinstance(value, dict) or (is_lenient and bool(prefix))
            mistyped = "" if is_taken else _no_map(value)
        if infinite and not mistyped:
            where = "struct field jsonPatchOp.value" if self._kind == CONTENT_TYPES["json"] else "value"
            mistyped = f"json: cannot unmarshal number {infinite} into Go {where} of type float64"
        return mistyped and prefix + mistyped

    def _strict_problems(self, body: bytes, value: Any) -> list[str]:
        is_json_patch = self._kind == CONTENT_TYPES["json"]
        if not json.has_duplicates(body, value) and not (is_json_patch and _has_unknown_members(value)):
            return []
        exact = json.loads_exactly(body, pairs=True, is_valid=True)
        if not is_json_patch:
            return strict_problems(None, exact)
        return [f"json patch {problem}" for problem in strict_problems(_OPERATIONS, exact)]

    def _parse_config(self, body: bytes) -> Object:
        try:
            parsed = Parsed(body, YAML)
        except Unrecognised as error:
            # As upstream: what looks like JSON is not read before it is applied.
            if body.lstrip()[:1] != b"{":
                raise errors.BadRequest(f"error encoding patch: {error}") from None
            self._refusal = errors.BadRequest(f"error decoding patch: error converting YAML to JSON: {error}")
            return {}
        if parsed.value is not None and not isinstance(parsed.value, dict):
            text = f"error unmarshaling JSON: while decoding JSON: {_no_map(parsed.value)}"
            self._refusal = errors.BadRequest(f"error decoding patch: {text}")
            return {}
        value, self._doubled = parsed.settle(None, self._options.field_validation)
        return value

    # Carrying it out

    def patched(self, live: Object | None) -> Object:
        assert live is not None, "only apply creates"
        if self._refusal is not None:
            raise self._refusal
        try:
            new = self._merged(live)
        except PatchDoesNotApply:
            raise InvalidPatch from None
        except TooManyOperations as error:
            raise errors.RequestEntityTooLarge(str(error)) from None
        except PatchError as error:
            if error.code == 400:
                raise errors.BadRequest(str(error)) from None
            raise PatchFailed(str(error), error.code) from None
        return self._settled(new)

    def _merged(self, live: Object) -> Any:
        if self._kind == CONTENT_TYPES["json"]:
            return json_patch.apply(live, self._patch)
        if self._kind == CONTENT_TYPES["merge"]:
            return merge_patch.apply(copied(live), self._patch)
        self._live = live
        merged = strategic_merge.apply(live, self._patch, self._endpoint.resource.schema)
        for field in ("kind", "apiVersion"):
            if not isinstance(merged.get(field, ""), str | None):
                from kapi.endpoints.restored import problem  # few do not fit

                raise self._unfit(merged, problem(merged[field], Type("string")) or "")
        # It works on the type, which has no say in what it is called.
        return {**merged, "kind": live["kind"], "apiVersion": live["apiVersion"]}

    def applied(self, live: Object | None) -> Object:
        if self._refusal is not None:
            raise self._refusal
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
            convert=resource.convert,
        )
        try:
            new = apply(live, self._patch, resource.schema, by)
        except ApplyConflict as conflict:
            raise _apply_conflict(conflict) from None
        except PatchError as error:
            if error.code == 400:
                raise errors.BadRequest(str(error)) from None
            raise PatchFailed(str(error), error.code) from None
        self._judge_doubled()
        return self._settled(new)

    def _judge_doubled(self) -> None:
        for problem in self._doubled:
            if self._options.field_validation == "Strict":
                raise errors.BadRequest(f"error strict decoding patch: error converting YAML to JSON: {problem}")
            for warning in as_warnings(problem):
                self._call.warn(warning)

    def _settled(self, new: Any) -> Object:
        """The patched object, decoded as if it had been sent."""
        resource = self._endpoint.resource
        if resource.untyped is None or not isinstance(new, dict):
            self._check_kind(new)
        else:
            self._check_said(new)
        shown = orjson.dumps(new)
        try:
            paths = self._decoded(new)
        except (TypeMismatch, ValueError) as mismatch:
            if resource.untyped is None and self._kind in (CONTENT_TYPES["strategic"], CONTENT_TYPES["apply"]):
                new, paths = self._restored(orjson.loads(shown), str(mismatch))
            else:
                raise self._unfit(orjson.loads(shown), str(mismatch)) from None
        if resource.untyped is not None and self._kind == CONTENT_TYPES["apply"]:
            paths = []  # as upstream: what a custom resource's schema does not know goes without a word
        # As upstream, whose merged objects are maps: in the order of their names.
        unknown = [f'unknown field "{path}"' for path in sorted(paths, key=_steps)]
        problems = [*self._problems, *unknown]
        if problems and self._options.field_validation == "Strict":
            raise self._unfit(orjson.loads(shown), strict_message(problems))
        if self._options.field_validation == "Warn":
            for problem in problems:
                self._call.warn(problem)
        if not isinstance(new.get("metadata"), dict):
            new["metadata"] = {}
        # As upstream says it of patches, whoever wrote them.
        deduplicate_owners(self._call, new, when=" after mutating admission happens")
        if resource.strategy.default is not None:
            resource.strategy.default(new)
        settled: Object = new
        return settled

    def _decoded(self, new: Object) -> list[str]:
        """Settles the object: the paths of what its type does not know."""
        resource = self._endpoint.resource
        if resource.untyped is None:
            return decode(resource.schema, new)
        is_applied = self._kind == CONTENT_TYPES["apply"]
        return resource.untyped.settle_applied(new) if is_applied else resource.untyped.settle(new)

    def _restored(self, new: Object, why: str) -> tuple[Object, list[str]]:
        """A merged or applied object, which is not read from JSON; refused with what its type does not take."""
        from kapi.endpoints.restored import problem, whole  # few do not fit

        schema = self._endpoint.resource.schema
        found = problem(whole(new, schema), schema)
        if found is not None:
            raise self._unrestorable(new, found)
        settled: Object = whole(new, schema)
        try:
            return settled, decode(schema, settled)
        except TypeMismatch:
            raise self._unrestorable(new, why) from None

    def _unrestorable(self, new: Object, why: str) -> errors.APIError:
        if self._kind == CONTENT_TYPES["strategic"]:
            return self._unfit(new, why)
        refused = unconvertible(self._patch, why)
        return PatchFailed(str(refused), refused.code)

    @staticmethod
    def _check_said(new: Object) -> None:
        """A custom resource's object says what it is; whether that is right is a matter of validation."""
        for field in ("kind", "apiVersion"):
            if not isinstance(new.get(field), str) or not new[field]:
                shown = "Kind" if field == "kind" else field
                raise errors.InternalError(f"Object '{shown}' is missing in 'object has no {field} field'")

    def _check_kind(self, new: Any) -> None:
        """The patched object is still what it was; a kind that was patched away is put back."""
        resource = self._endpoint.resource
        try:
            said = said_kind(new)
        except Unrecognised as error:
            raise self._unfit(new, str(error)) from None
        if not said.version and not said.group:
            raise self._nameless(new or {})
        actual = said._replace(kind=said.kind or resource.kind)
        if actual == resource.gvk:
            new["kind"] = actual.kind
            return
        why = unknown_kind(actual, resource.gvk) or _mismatch(new, actual)
        raise self._unfit(new, why or no_conversion(actual, resource.gvk))

    def _nameless(self, new: Object) -> errors.APIError:
        """As upstream, which takes an object that denies its kind for one of a kind without any fields."""
        unknown = [f'unknown field "{key}"' for key in sorted(new) if key not in ("kind", "apiVersion")]
        problems = [*self._problems, *unknown]
        if problems and self._options.field_validation == "Strict":
            return self._unfit(new, strict_message(problems))
        if self._options.field_validation == "Warn":
            for problem in problems:
                self._call.warn(problem)
        return name_undeterminable(self._call.info.name)

    def _unfit(self, new: Any, why: str) -> errors.Invalid:
        return errors.Invalid(GroupKind("", ""), "", [invalid("patch", self._shown(new), why)])

    def _shown(self, new: Any) -> str:
        if self._kind == CONTENT_TYPES["strategic"]:
            return go_format(strategic_merge.rest(self._live, self._patch or {}, self._endpoint.resource.schema))
        from kapi.endpoints.patch_shown import shown, touched_by_merge, touched_by_operations  # for refusals alone

        by_operations = self._kind == CONTENT_TYPES["json"]
        touched = touched_by_operations(self._patch) if by_operations else touched_by_merge(self._patch)
        resource = self._endpoint.resource
        return shown(new, touched, resource.schema if resource.untyped is None else None)


def _mismatch(new: Object, actual: GroupVersionKind) -> str:
    """Why the object is not even what it now says it is."""
    try:
        decode(type_of(*actual), copied(new))
    except TypeMismatch as mismatch:
        return str(mismatch)
    except UnknownType:
        return ""
    return ""


_MEMBERS = ("op", "path", "from", "value")
_OPERATION = Type("object", fields={name: Field(name, lambda: Type("any")) for name in _MEMBERS})
_OPERATIONS = Type("list", element=lambda: _OPERATION)


def _has_unknown_members(patch: Any) -> bool:
    return any(name not in _MEMBERS for operation in patch or () for name in operation or ())


def _steps(path: str) -> list[tuple[str, int]]:
    """A path in parts that compare as the keys and indices that they are."""
    return [("", int(part)) if part.isdigit() else (part, 0) for part in re.split(r"[.\[\]]+", path)]


def _no_map(value: Any) -> str:
    return f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"


def _apply_conflict(conflict: ApplyConflict) -> errors.APIError:
    error = errors.APIError(str(conflict), details={"causes": conflict.causes})
    error.code, error.reason = 409, "Conflict"
    return error
