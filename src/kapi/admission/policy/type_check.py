"""Type checks of a policy: would its expressions fit the objects that it is about? As upstream's typechecking.go.

What is found is for the policy's status; it never changes what the policy does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from kapi.api.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.cel.declarations import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NUMBER,
    TEXT,
    Declaration,
    Field,
    array_of,
    mapping_of,
    object_of,
)
from kapi.cel.environment import Environment
from kapi.cel.escaping import escape
from kapi.cel.policies import policy_environment, with_variables
from kapi.cel.source import CompileError
from kapi.cel.types import BYTES, DURATION, DYN, TIMESTAMP, CelType
from kapi.schema.types import Type

# The kind that a resource is of, and the type of a kind; None for what is not served.
Kinds: TypeAlias = Callable[[GroupVersionResource], GroupVersionKind | None]
Types: TypeAlias = Callable[[GroupVersionKind], Type | None]

_MOST_TYPES = 10
_UNBOUNDED = -1
_FORMATS = {"date-time": TIMESTAMP, "micro-time": TIMESTAMP, "date": TIMESTAMP, "duration": DURATION, "byte": BYTES}
_UNTYPED = ("int-or-string", "quantity", "raw")


def expression_warnings(policy: Object, kinds: Kinds, types: Types) -> list[Object]:
    """What the expressions of validations and their messages would fail with, for `status.typeChecking`."""
    spec = policy["spec"]
    environments = list(_environments(spec, kinds, types))
    warnings: list[Object] = []
    for i, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            found = list(_problems(validation.get(field) or "", environments))
            if found:
                warnings.append({"fieldRef": f"spec.validations[{i}].{field}", "warning": "\n".join(found)})
    return warnings


def _problems(text: str, environments: Sequence[tuple[GroupVersionKind, Environment]]) -> Iterator[str]:
    if not text:
        return
    for kind, environment in environments:
        try:
            environment.compile(text)
        except CompileError as error:
            yield f"{kind.group}/{kind.version}, Kind={kind.kind}: {error}\n"


def _environments(spec: Object, kinds: Kinds, types: Types) -> Iterator[tuple[GroupVersionKind, Environment]]:
    param = spec.get("paramKind")
    params: dict[str, Declaration] = {}
    if param is not None:
        kind = GroupVersionKind(*GroupVersion.parse(param.get("apiVersion", "")), param.get("kind", ""))
        type_ = types(kind)
        params = {"params": declared(type_, "params") if type_ is not None else ANYTHING}
    base = policy_environment(params=param is not None, authorize=True)
    for kind in _kinds(spec, kinds):
        type_ = types(kind)
        if type_ is not None:
            held = declared(type_, kind.kind)
            environment = base.extend({"object": held, "oldObject": held, **params})
            yield kind, _with_variables(environment, spec.get("variables") or ())


def _with_variables(environment: Environment, variables: Sequence[Object]) -> Environment:
    found: dict[str, CelType] = {}
    made = environment
    for variable in variables:
        try:
            found[variable["name"]] = made.compile(variable.get("expression", "")).result_type
        except CompileError:
            found[variable["name"]] = DYN
        made = with_variables(environment, found)
    return made


def _kinds(spec: Object, kinds: Kinds) -> list[GroupVersionKind]:
    """Those that the rules name, but for wildcards and subresources; ten at most."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if "*" in groups or "*" in versions:
            continue
        resources = sorted(r for r in rule.get("resources") or () if not set(r) & {"*", "/"})
        places = [GroupVersionResource(g, v, r) for g in sorted(groups) for v in sorted(versions) for r in resources]
        count = 0
        for place in places:
            kind = kinds(place)
            if kind is not None:
                found.add(kind)
                count += 1
                if count == _MOST_TYPES:
                    return sorted(found)
    return sorted(found)


def declared(type_: Type, name: str) -> Declaration:
    """What expressions may expect of values of a type."""
    return _Declarations().of(type_, name)


class _Declarations:
    """Named types are declared once; where one contains itself, the inner one may be anything."""

    def __init__(self) -> None:
        self._named: dict[str, Declaration] = {}

    def of(self, type_: Type, name: str) -> Declaration:
        if type_.int_or_string or type_.format in _UNTYPED or type_.kind == "any":
            return ANYTHING
        if type_.kind == "object":
            return self._object(type_, name)
        if type_.kind in ("list", "map"):
            element = self.of(type_.element, f"{name}.@elem") if type_.element is not None else ANYTHING
            return array_of(element, _UNBOUNDED) if type_.kind == "list" else mapping_of(element, _UNBOUNDED)
        if type_.format in _FORMATS:
            return Declaration(type=_FORMATS[type_.format])
        return {"string": TEXT, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER}[type_.kind]

    def _object(self, type_: Type, name: str) -> Declaration:
        key = type_.name or name
        found = self._named.get(key)
        if found is not None:
            return found
        self._named[key] = ANYTHING
        fields = {}
        for field in type_.fields.values():
            escaped = escape(field.name)
            if escaped is not None:
                fields[escaped] = Field(name=field.name, declaration=self.of(field.type, f"{name}.{field.name}"))
        made = self._named[key] = object_of(key, fields)
        return made
