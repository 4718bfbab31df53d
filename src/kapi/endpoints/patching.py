"""Patches: from a patch of one of four types and the stored object to the object that shall be."""

from __future__ import annotations

from typing import Any

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import invalid
from kapi.api.gvk import GroupKind, GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.decode import Decoded, Parsed, Unrecognised, strict_message, unknown_kind
from kapi.codec.strict import strict_problems
from kapi.endpoints.bodies import YAML, content_type, deduplicate_owners, name_undeterminable
from kapi.endpoints.endpoint import Endpoint
from kapi.patch import json_patch, merge_patch, strategic_merge
from kapi.patch.apply.apply import Applier, apply
from kapi.patch.errors import ApplyConflict, PatchDoesNotApply, PatchError, TooManyOperations
from kapi.patch.values import copied, go_format, json_type
from kapi.registry.options import WriteOptions
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import UnknownType, type_of

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
        if kind == CONTENT_TYPES["apply"]:
            self._patch = self._parse_config(body)
        else:
            self._patch = self._parse_patch(body)
            if options.field_validation != "Ignore" and json.has_duplicates(body, self._patch):
                found = strict_problems(None, json.loads_exactly(body, pairs=True))
                prefix = "json patch " if kind == CONTENT_TYPES["json"] else ""
                self._problems = [prefix + problem for problem in found]
            if kind == CONTENT_TYPES["json"]:
                self._problems += _unknown_to_json_patch(self._patch)
        if call.audit is not None:
            call.audit.request_patch(self._patch)

    # Reading the patch

    def _parse_patch(self, body: bytes) -> Any:
        if self._kind == CONTENT_TYPES["json"]:
            return self._parse_json_patch(body)
        try:
            value = json.loads(body)
        except json.JSONError as error:
            raise errors.BadRequest("invalid JSON patch") from error
        if value is None and self._kind == CONTENT_TYPES["merge"]:
            raise errors.BadRequest("Invalid JSON Patch")
        if value is not None and not isinstance(value, dict):
            text = f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
            raise errors.BadRequest(f"error decoding patch: {text}")
        return value

    def _parse_json_patch(self, body: bytes) -> Any:
        try:
            value = json.loads(body)
        except json.JSONError as error:
            raise errors.BadRequest(f"error decoding patch: {error}") from None
        problem = _operations_problem(value) if self._options.field_validation != "Ignore" else ""
        if problem:
            raise errors.BadRequest(f"error decoding patch: {problem}")
        try:
            json_patch.operations(value)
        except TooManyOperations as error:
            raise errors.RequestEntityTooLarge(str(error)) from None
        except PatchError as error:
            raise errors.BadRequest(str(error)) from None
        return value

    def _parse_config(self, body: bytes) -> Object:
        try:
            parsed = Parsed(body, YAML)
        except Unrecognised as error:
            text = str(error).removeprefix("error converting YAML to JSON: ")
            raise errors.BadRequest(f"error encoding patch: {text}") from None
        if parsed.value is not None and not isinstance(parsed.value, dict):
            text = f"json: cannot unmarshal {json_type(parsed.value)} into Go value of type map[string]interface {{}}"
            raise errors.BadRequest(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {text}")
        value, problems = parsed.settle(None, self._options.field_validation)
        if problems and self._options.field_validation == "Strict":
            raise errors.BadRequest(f"error strict decoding YAML: {', '.join(problems)}")
        for warning in Decoded(value, self._endpoint.resource.gvk, problems).warnings:
            self._call.warn(warning)
        return value

    # Carrying it out

    def patched(self, live: Object | None) -> Object:
        assert live is not None, "only apply creates"
        try:
            new = self._merged(live)
        except PatchDoesNotApply:
            raise InvalidPatch from None
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
        merged = strategic_merge.apply(live, self._patch, self._endpoint.resource.schema)
        # It works on the type, which has no say in what it is called.
        return {**merged, "kind": live["kind"], "apiVersion": live["apiVersion"]}

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
        return self._settled(new)

    def _settled(self, new: Any) -> Object:
        """The patched object, decoded as if it had been sent."""
        resource = self._endpoint.resource
        if not isinstance(new, dict):
            raise self._unfit(new, f"json: cannot unmarshal {json_type(new)} into Go value")
        if resource.untyped is None:
            self._check_kind(new)
        else:
            self._check_said(new)
        shown = orjson.dumps(new)
        try:
            paths = decode(resource.schema, new) if resource.untyped is None else resource.untyped.settle(new)
        except (TypeMismatch, ValueError) as mismatch:
            if resource.untyped is None and self._kind in (CONTENT_TYPES["strategic"], CONTENT_TYPES["apply"]):
                new, paths = self._restored(orjson.loads(shown))
            else:
                raise self._unfit(orjson.loads(shown), str(mismatch)) from None
        if resource.untyped is not None and self._kind == CONTENT_TYPES["apply"]:
            paths = []  # as upstream: what a custom resource's schema does not know goes without a word
        unknown = [f'unknown field "{path}"' for path in paths]
        problems = [*self._problems, *unknown]
        if problems and self._options.field_validation == "Strict":
            raise self._unfit(orjson.loads(shown), strict_message(problems))
        if self._options.field_validation == "Warn":
            for problem in problems:
                self._call.warn(problem)
        if not isinstance(new.get("metadata"), dict):
            new["metadata"] = {}
        deduplicate_owners(self._call, new)
        if resource.strategy.default is not None:
            resource.strategy.default(new)
        settled: Object = new
        return settled

    def _restored(self, new: Object) -> tuple[Object, list[str]]:
        """An object that was merged by its type, which is not read from JSON; refused for what that does not take."""
        from kapi.endpoints.restored import problem, whole  # few do not fit

        schema = self._endpoint.resource.schema
        found = problem(whole(new, schema), schema)
        if found is not None:
            raise self._unrestored(new, found)
        settled: Object = whole(new, schema)
        try:
            return settled, decode(schema, settled)
        except TypeMismatch as mismatch:
            raise self._unrestored(new, mismatch.bare) from None

    def _unrestored(self, new: Object, why: str) -> errors.APIError:
        if self._kind == CONTENT_TYPES["strategic"]:
            return self._unfit(new, why)
        resource, said = self._endpoint.resource, self._patch.get("metadata") or {}
        kind = f"{resource.group_version}, Kind={resource.kind}"
        return PatchFailed(
            f"failed to convert new object ({said.get('namespace') or ''}/{said.get('name') or ''}; {kind}) "
            f"to proper version: unable to convert unstructured object to {kind}: {why}",
            500,
        )

    @staticmethod
    def _check_said(new: Object) -> None:
        """A custom resource's object says what it is; whether that is right is a matter of validation."""
        for field in ("kind", "apiVersion"):
            if not isinstance(new.get(field), str) or not new[field]:
                shown = "Kind" if field == "kind" else field
                raise errors.InternalError(f"Object '{shown}' is missing in 'object has no {field} field'")

    def _check_kind(self, new: Object) -> None:
        """The patched object is still what it was; a kind that was patched away is put back."""
        resource = self._endpoint.resource
        for field, said in (("kind", resource.kind), ("apiVersion", str(resource.group_version))):
            if new.get(field) is None:
                new[field] = said
        if new["kind"] == resource.kind and new["apiVersion"] == str(resource.group_version):
            return
        if not new["kind"] and not new["apiVersion"]:
            raise self._nameless(new)
        try:
            actual = GroupVersionKind(*GroupVersion.parse(str(new["apiVersion"])), str(new["kind"]))
        except ValueError as error:
            raise self._unfit(new, str(error)) from None
        why = unknown_kind(actual, resource.gvk) or _mismatch(new, actual)
        raise self._unfit(new, why or f"unable to decode {actual.kind} as {resource.kind}")

    def _nameless(self, new: Object) -> errors.APIError:
        """As upstream, which takes an object that denies its kind for one of a kind without any fields."""
        unknown = [f'unknown field "{key}"' for key in sorted(new) if key not in ("kind", "apiVersion")]
        if self._options.field_validation == "Strict":
            return self._unfit(new, strict_message([*self._problems, *unknown]))
        if self._options.field_validation == "Warn":
            for problem in (*self._problems, *unknown):
                self._call.warn(problem)
        return name_undeterminable(self._call.info.name)

    def _unfit(self, new: Any, why: str) -> errors.Invalid:
        return errors.Invalid(GroupKind("", ""), "", [invalid("patch", self._shown(new), why)])

    def _shown(self, new: Any) -> str:
        if self._kind == CONTENT_TYPES["strategic"]:
            return go_format(self._patch)
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


def _operations_problem(patch: Any) -> str:
    """What keeps a JSON patch from being a list of operations, in the words of who looks for unknown fields in it."""
    if patch is not None and not isinstance(patch, list):
        return f"json: cannot unmarshal {json_type(patch)} into Go value of type []handlers.jsonPatchOp"
    for operation in patch or ():
        if operation is not None and not isinstance(operation, dict):
            return f"json: cannot unmarshal {json_type(operation)} into Go value of type handlers.jsonPatchOp"
        for name, value in (operation or {}).items():
            if name in ("op", "path", "from") and value is not None and not isinstance(value, str):
                return (
                    f"json: cannot unmarshal {json_type(value)} into Go struct field jsonPatchOp.{name} of type string"
                )
    return ""


_JSON_PATCH_FIELDS = frozenset(("op", "path", "from", "value"))


def _unknown_to_json_patch(patch: Any) -> list[str]:
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(patch or ())
        for name in sorted((operation or {}).keys() - _JSON_PATCH_FIELDS)
    ]


def _apply_conflict(conflict: ApplyConflict) -> errors.APIError:
    error = errors.APIError(str(conflict), details={"causes": conflict.causes})
    error.code, error.reason = 409, "Conflict"
    return error
