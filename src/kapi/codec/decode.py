"""Request bodies to objects: parsed, recognised, checked against their type; every failure in upstream's words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kapi.api.errors import BadRequest
from kapi.api.gvk import GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.codec import json
from kapi.codec.strict import merged, strict_problems, unknown
from kapi.schema import loader
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.types import Type

if TYPE_CHECKING:
    from kapi.codec.protobuf import Body

PROTOBUF = "application/vnd.kubernetes.protobuf"
Strictness: TypeAlias = Literal["Ignore", "Warn", "Strict"]

_META_STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_YAML_ERRORS = "yaml: unmarshal errors:\n"
_SUMMARY = 30
# The schemes that upstream's servers keep, as their messages name them.
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
}
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
# Kinds that every group-version has.
_META_KINDS = frozenset(
    ("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent")
)
# Kinds that have no version of their own, and stand under v1.
_UNVERSIONED = frozenset(("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"))
_INTERNAL_PACKAGES = {"": "core", "events.k8s.io": "core", "internal.apiserver.k8s.io": "apiserverinternal"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object, what its body said it is, and what strict decoding holds against it."""

    object: Object
    gvk: GroupVersionKind
    problems: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """The problems as warnings: one each, also where YAML reports several at once."""
        return [warning for problem in self.problems for warning in as_warnings(problem)]


def as_warnings(problem: str) -> list[str]:
    if not problem.startswith(_YAML_ERRORS):
        return [problem]
    return [line.strip() for line in problem.removeprefix(_YAML_ERRORS).split("\n")]


class Unrecognised(Exception):
    """The body does not say what it is; `str` is upstream's reason."""


def said_kind(value: Any) -> GroupVersionKind:
    """What a body says it is; empty where it says nothing."""
    if value is None:
        return GroupVersionKind("", "", "")
    if value.__class__ is not dict:
        mismatch = TypeMismatch(value, _META_STRUCT)
        raise Unrecognised(f"couldn't get version/kind; json parse error: {mismatch.message}")
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if api_version is None or kind is None:
        # As Go reads these two, and nothing else: in any case of letters.
        folded = {key.lower(): item for key, item in value.items()}
        api_version, kind = folded.get("apiversion"), folded.get("kind")
    if (api_version is not None and api_version.__class__ is not str) or (
        kind is not None and kind.__class__ is not str
    ):
        raise Unrecognised(f"couldn't get version/kind; json parse error: {_not_text(value)}")
    try:
        group, version = GroupVersion.parse(api_version or "")
    except ValueError as error:
        raise Unrecognised(str(error)) from None
    return GroupVersionKind(group, version, kind or "")


class Parsed:
    """A body that could be read. Its value is settled once, for one type."""

    __slots__ = ("_data", "_is_odd", "_is_yaml", "_yaml_problem", "value")

    def __init__(self, data: bytes, media_type: str) -> None:
        self._data = data
        self._is_yaml = media_type.endswith("yaml")
        self._yaml_problem = ""
        self._is_odd = False
        if self._is_yaml:
            from kapi.codec import yaml  # few bodies are YAML

            try:
                self.value, self._yaml_problem = yaml.load(data)
            except yaml.YAMLError as error:
                raise Unrecognised(str(error)) from None
            return
        try:
            self.value, self._is_odd = json.parse(data)
        except json.JSONError as error:
            raise Unrecognised(f"couldn't get version/kind; json parse error: {error}") from None

    def interpret(self) -> GroupVersionKind:
        return said_kind(self.value)

    def settle(self, type_: Type | None, strictness: Strictness) -> tuple[Object, list[str]]:
        """The object, checked by its type if there is one, and its problems. TypeMismatch when it does not fit."""
        problems: list[str] | None = None
        value = self.value if self.value is not None else {}
        if not self._is_yaml and json.has_duplicates(self._data, value):
            exact = json.loads_exactly(self._data, pairs=True, is_valid=True)
            problems = strict_problems(type_, exact)
            value = merged(type_, exact) if problems else value
        if type_ is not None:
            try:
                paths = decode(type_, value)
            except TypeMismatch as mismatch:
                if not mismatch.is_number or self._is_yaml:
                    raise
                # The message quotes the number as it was written, which only the exact parser knows.
                decode(type_, json.loads_exactly(self._data, keep_text=True, is_valid=True))
                raise
            if problems is None:
                problems = [unknown(path) for path in paths]
        if self._is_odd and (number := json.first_infinite(value)):
            raise TypeMismatch(None, "float64", number=number)
        if strictness == "Ignore":
            return value, []
        return value, [*([self._yaml_problem] if self._yaml_problem else []), *(problems or [])]


class ParsedProtobuf:
    """The same for a body in protobuf. It has no unknown fields that anyone could name."""

    __slots__ = ("_body",)

    def __init__(self, body: Body) -> None:
        self._body = body

    def interpret(self) -> GroupVersionKind:
        try:
            return self._body.gvk
        except ValueError as error:
            raise Unrecognised(str(error)) from None

    def settle(self, type_: Type | None, strictness: Strictness) -> tuple[Object, list[str]]:
        from kapi.codec.protobuf import NoMessage
        from kapi.codec.protobuf_wire import Malformed

        try:
            value = self._body.decode(type_.name if type_ is not None else "")
        except (Malformed, NoMessage) as error:
            raise TypeMismatch.plainly(str(error)) from None
        if type_ is not None:
            decode(type_, value)
        return value, []


def _parse(data: bytes, media_type: str) -> Parsed | ParsedProtobuf:
    if media_type != PROTOBUF:
        return Parsed(data, media_type)
    from kapi.codec.protobuf import Body  # loaded with the first body of this form
    from kapi.codec.protobuf_wire import Malformed

    try:
        return ParsedProtobuf(Body(data))
    except Malformed as error:
        raise Unrecognised(str(error)) from None


def decode_object(
    data: bytes,
    media_type: str,
    expected: GroupVersionKind,
    strictness: Strictness = "Warn",
    *,
    type_: Type | None = None,
    or_versions: Collection[GroupVersion] = (),
) -> Decoded:
    """The object that a request's body holds, of the kind that its path asks for. BadRequest when it is not that.

    `type_` is the expected kind's; it is looked up when not given. In `or_versions` the kind is of the same type.
    """
    try:
        parsed = _parse(data, media_type)
        actual = _with_defaults(parsed.interpret(), expected)
    except Unrecognised as reason:
        message = f"the object provided is unrecognized (must be of type {expected.kind}): {reason} ({summary(data)})"
        raise BadRequest(message) from None
    if actual != expected and (actual.kind != expected.kind or actual.group_version not in or_versions):
        _refuse_kind(actual, expected)
    try:
        value, problems = parsed.settle(type_ or loader.type_of(*expected), strictness)
    except TypeMismatch as mismatch:
        raise BadRequest(_cannot_be_handled(actual, expected, mismatch.message)) from None
    if problems and strictness == "Strict":
        raise BadRequest(_cannot_be_handled(actual, expected, strict_message(problems)))
    return Decoded(_named(value, expected), actual, problems)


def decode_options(data: bytes, media_type: str, expected: GroupVersionKind) -> Object:
    """Options that came as a body, such as DeleteOptions: the same, but failures are told without ceremony."""
    try:
        parsed = _parse(data, media_type)
        actual = _with_defaults(parsed.interpret(), expected)
        if actual.kind in _UNVERSIONED and str(actual.group_version) == "v1":
            raise Unrecognised(f"converting (v1.{actual.kind}) to (v1.{expected.kind}): unknown conversion")
        if actual.kind != expected.kind:
            gv = actual.group_version
            raise Unrecognised(
                f'no kind "{actual.kind}" is registered for version "{gv}" in scheme "{_OPTIONS_SCHEME}"'
            )
        return parsed.settle(loader.type_of("", "v1", expected.kind), "Ignore")[0]
    except (Unrecognised, TypeMismatch) as reason:
        raise BadRequest(str(reason)) from None


def decode_untyped(data: bytes, media_type: str, kind: str, strictness: Strictness = "Warn") -> Decoded:
    """A custom resource's body: no type but JSON's; its schema comes later. The gvk is what the body says."""
    try:
        parsed = _parse(data, media_type)
        gvk = parsed.interpret()
    except Unrecognised as reason:
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): {reason} ({summary(data)})"
        ) from None
    try:
        value, problems = parsed.settle(None, strictness)
    except TypeMismatch as mismatch:
        raise BadRequest(
            f'{gvk.kind or kind} in version "{gvk.version}" cannot be handled as a {kind}: {mismatch}'
        ) from None
    return Decoded(value, gvk, problems)


def strict_message(problems: list[str]) -> str:
    return f"strict decoding error: {', '.join(problems)}"


def summary(data: bytes) -> str:
    """The beginning of a body, for messages: as text when it looks like JSON, else in hexadecimal."""
    if not data:
        return "<empty>"
    start = data[:_SUMMARY]
    text = start.decode("utf-8", "replace") if data[:1] == b"{" else start.hex()
    return f"{text} ..." if len(data) > _SUMMARY else text


def _with_defaults(actual: GroupVersionKind, expected: GroupVersionKind) -> GroupVersionKind:
    if actual == expected:
        return actual
    group, version, kind = actual
    if not version and (not group or group == expected.group):
        group, version = expected.group, expected.version
    return GroupVersionKind(group, version, kind or expected.kind)


def _refuse_kind(actual: GroupVersionKind, expected: GroupVersionKind) -> None:
    why = unknown_kind(actual, expected)
    if not why and actual.kind == expected.kind:
        raise BadRequest(
            f"the API version in the data ({actual.group_version}) does not match the expected API version "
            f"({expected.group_version})"
        )
    raise BadRequest(_cannot_be_handled(actual, expected, why or no_conversion(actual, expected)))


def no_conversion(actual: GroupVersionKind, expected: GroupVersionKind) -> str:
    """Why a kind that is known does not become another one."""
    return f"converting ({actual.version}.{actual.kind}) to ({internal_type(expected)}): unknown conversion"


def internal_type(gvk: GroupVersionKind) -> str:
    """What upstream calls the type that it keeps objects of a kind in."""
    package = _INTERNAL_PACKAGES.get(gvk.group, gvk.group.partition(".")[0])
    return f"{package}.{gvk.kind}"


def unknown_kind(actual: GroupVersionKind, expected: GroupVersionKind) -> str:
    """Why a kind means nothing to the server that expected another one; empty when it does."""
    group_version = str(actual.group_version)
    scheme = _SCHEMES.get(expected.group)
    known = loader.registered_kinds(group_version) if scheme is None or actual.group == expected.group else frozenset()
    if actual.group == "meta.k8s.io":
        known = frozenset()  # what answers are made of is no kind that one could send
    if actual.kind in known or (known and actual.kind in _META_KINDS):
        return ""
    if group_version == "v1" and actual.kind in _UNVERSIONED:
        return ""
    return f'no kind "{actual.kind}" is registered for version "{group_version}" in scheme "{scheme or _SCHEME}"'


def _cannot_be_handled(actual: GroupVersionKind, expected: GroupVersionKind, why: str) -> str:
    return f'{actual.kind} in version "{actual.version}" cannot be handled as a {expected.kind}: {why}'


def _named(value: Object, gvk: GroupVersionKind) -> Object:
    """The object with its kind and apiVersion said, whatever the body left out."""
    if value.get("kind") and value.get("apiVersion"):
        return value
    return {**value, "kind": gvk.kind, "apiVersion": str(gvk.group_version)}


def _not_text(value: Object) -> str:
    for key, item in value.items():
        if key in ("apiVersion", "kind") and item is not None and item.__class__ is not str:
            mismatch = TypeMismatch(item, "string")
            mismatch.inside("", None, key)
            return mismatch.message
    return ""
