"""The environment of admission policies, match conditions and mutations: `object`, `request`, `params` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kapi.cel.declarations import ANYTHING, BOOLEAN, INTEGER, TEXT, Declaration, Field, array_of, mapping_of, object_of
from kapi.cel.environment import Environment, Program
from kapi.cel.kubernetes import libraries
from kapi.cel.library import authorizer, json_patch
from kapi.cel.source import CompileError, InstantiationError
from kapi.cel.types import ANY, TIMESTAMP, CelType, declared_name, list_of, struct
from kapi.cel.values import EvaluationError, ObjectValue

OBJECT = struct(json_patch.OBJECT_NAME)
PATCHES = list_of(struct(json_patch.PATCH_NAME))
_UNBOUNDED = -1


class PolicyError(ValueError):
    """An expression that a policy may not have. `internal`: it is well-formed, but no program can be made of it."""

    def __init__(self, message: str, *, internal: bool = False) -> None:
        super().__init__(message)
        self.internal = internal


def _object(name: str, /, **fields: Declaration) -> Declaration:
    return object_of(name, {key: Field(name=key, declaration=held) for key, held in fields.items()})


def _texts() -> Declaration:
    return array_of(TEXT, _UNBOUNDED)


def request_declaration() -> Declaration:
    kind = _object("kubernetes.GroupVersionKind", group=TEXT, version=TEXT, kind=TEXT)
    resource = _object("kubernetes.GroupVersionResource", group=TEXT, version=TEXT, resource=TEXT)
    user = _object(
        "kubernetes.UserInfo", username=TEXT, uid=TEXT, groups=_texts(), extra=mapping_of(_texts(), _UNBOUNDED)
    )
    return _object(
        "kubernetes.AdmissionRequest",
        kind=kind,
        resource=resource,
        subResource=TEXT,
        requestKind=kind,
        requestResource=resource,
        requestSubResource=TEXT,
        name=TEXT,
        namespace=TEXT,
        operation=TEXT,
        userInfo=user,
        dryRun=BOOLEAN,
        options=ANYTHING,
    )


def namespace_declaration() -> Declaration:
    time = Declaration(type=TIMESTAMP)
    labels = mapping_of(TEXT, _UNBOUNDED)
    metadata = _object(
        "kubernetes.NamespaceMetadata",
        name=TEXT,
        generateName=TEXT,
        namespace=TEXT,
        labels=labels,
        annotations=labels,
        UID=TEXT,
        creationTimestamp=time,
        deletionGracePeriodSeconds=INTEGER,
        deletionTimestamp=time,
        generation=INTEGER,
        resourceVersion=TEXT,
        finalizers=_texts(),
    )
    condition = _object(
        "kubernetes.NamespaceCondition", status=TEXT, type=TEXT, lastTransitionTime=time, message=TEXT, reason=TEXT
    )
    status = _object("kubernetes.NamespaceStatus", conditions=array_of(condition, _UNBOUNDED), phase=TEXT)
    spec = _object("kubernetes.NamespaceSpec", finalizers=_texts())
    return _object("kubernetes.Namespace", metadata=metadata, spec=spec, status=status)


@lru_cache(maxsize=8)
def policy_environment(*, params: bool = False, authorize: bool = False, patches: bool = False) -> Environment:
    """`authorize` adds the authorizer, `patches` what mutations are written with. Each is made once, on first use."""
    variables: dict[str, Declaration] = {
        "object": ANYTHING,
        "oldObject": ANYTHING,
        "namespaceObject": namespace_declaration(),
        "request": request_declaration(),
    }
    if params:
        variables["params"] = ANYTHING
    if authorize:
        variables["authorizer"] = Declaration(type=authorizer.AUTHORIZER)
        variables["authorizer.requestResource"] = Declaration(type=authorizer.RESOURCE_CHECK)
    offered = libraries()
    if not patches:
        return Environment(variables, offered)
    return Environment(
        variables,
        (*offered, json_patch.library()),
        types=(json_patch.patch_declaration(),),
        open_types=(json_patch.OBJECT_NAME,),
    )


def with_variables(environment: Environment, types: Mapping[str, CelType]) -> Environment:
    """The environment with `variables`, whose fields are what earlier expressions evaluate to."""
    fields = {name: Field(name=name, declaration=Declaration(type=held)) for name, held in types.items()}
    return environment.extend({"variables": object_of("kubernetes.variables", fields)})


def compile_expression(environment: Environment, text: str, expected: Sequence[CelType]) -> Program:
    """PolicyError when it does not compile, or makes a value of none of the expected types (ANY takes all)."""
    try:
        program = environment.compile(text)
    except CompileError as error:
        raise PolicyError(f"{error.step} failed: {error}", internal=isinstance(error, InstantiationError)) from None
    if ANY in expected or program.result_type in expected:
        return program
    found = declared_name(program.result_type)
    if len(expected) == 1:
        raise PolicyError(f"must evaluate to {expected[0]} but got {found}")
    shown = " ".join(held.name for held in expected)
    raise PolicyError(f"must evaluate to one of [{shown}] but got {found}")


class Variables(dict[str, Any]):
    """The value of `variables`: each is evaluated when it is first looked at, and at most once."""

    def __init__(self, evaluations: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._evaluations = evaluations
        self._errors: dict[str, EvaluationError] = {}

    def __missing__(self, name: str) -> Any:
        if name in self._errors:
            raise self._errors[name]
        try:
            value = self[name] = self._evaluations[name]()
        except EvaluationError as error:
            failed = EvaluationError(f'composited variable "{name}" fails to evaluate: {error}')
            self._errors[name] = failed
            raise failed from None
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._evaluations else default


def misnamed_objects(value: Any, expected: str = json_patch.OBJECT_NAME) -> list[str]:
    """Parts of an applied configuration whose type's name is not the path that they stand at."""
    problems: list[str] = []
    if isinstance(value, ObjectValue):
        if value.type_name != expected:
            problems.append(
                f'unexpected type name "{value.type_name}", expected "{expected}", '
                "which matches field name path from root Object type"
            )
        for name, item in value.items():
            problems += misnamed_objects(item, f"{expected}.{name}")
    elif isinstance(value, list):
        for item in value:
            problems += misnamed_objects(item, expected)
    elif isinstance(value, dict):
        for item in value.values():
            problems += misnamed_objects(item, expected)
    return problems
