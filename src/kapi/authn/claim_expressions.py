"""CEL over a token's claims, and over the user they make."""

from __future__ import annotations

from functools import cache
from typing import Any

from kapi.api.user import User
from kapi.cel.ast import Call, Ident, Literal, Node, Select, children
from kapi.cel.declarations import ANYTHING, TEXT, Declaration, Field, array_of, mapping_of, object_of
from kapi.cel.environment import Environment, Program
from kapi.cel.escaping import unescape
from kapi.cel.kubernetes import base_environment
from kapi.cel.source import CompileError
from kapi.cel.types import BOOL
from kapi.cel.values import EvaluationError

_UNBOUNDED = -1
_NO_LIST = "expression must return a string or a list of strings"


class ExpressionError(ValueError):
    """An expression cannot be used, or gave nothing that can be; the message says why."""


class JSONObject(dict[str, Any]):
    """A claim's object: a name that is no identifier is found by its escaped form as well."""

    def __missing__(self, name: str) -> Any:
        meant = unescape(name)
        if meant == name:
            raise KeyError(name)
        return self[meant]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and super().__contains__(unescape(name)))

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


@cache
def _claims_environment() -> Environment:
    return base_environment().extend({"claims": mapping_of(ANYTHING, _UNBOUNDED)})


@cache
def _user_environment() -> Environment:
    texts = array_of(TEXT, _UNBOUNDED)
    held: dict[str, Declaration] = {
        "username": TEXT,
        "uid": TEXT,
        "groups": texts,
        "extra": mapping_of(texts, _UNBOUNDED),
    }
    fields = {name: Field(name=name, declaration=declared) for name, declared in held.items()}
    return base_environment().extend({"user": object_of("kubernetes.UserInfo", fields)})


def compile_mapping(expression: str) -> Program:
    """Of claims, to a value of any type. Raises ExpressionError."""
    return _compile(_claims_environment(), expression)


def compile_claim_rule(expression: str) -> Program:
    return _boolean(_compile(_claims_environment(), expression))


def compile_user_rule(expression: str) -> Program:
    return _boolean(_compile(_user_environment(), expression))


def _compile(environment: Environment, expression: str) -> Program:
    try:
        return environment.compile(expression)
    except CompileError as error:
        raise ExpressionError(f"{error.step} failed: {error}") from None


def _boolean(program: Program) -> Program:
    if program.result_type != BOOL:
        raise ExpressionError("must evaluate to bool")
    return program


def uses_claim(program: Program, claim: str) -> bool:
    """Whether the expression looks at that claim by its name."""
    return _selects(program.tree, claim)


def _selects(node: Node, claim: str) -> bool:
    match node:
        case Select(operand=Ident(name="claims"), name=name) if name == claim:
            return True
        case Call(function="_?._", args=[Ident(name="claims"), Literal(value=value)]) if value == claim:
            return True
    return any(_selects(child, claim) for child in children(node))


# Evaluation


def claims_value(value: Any) -> Any:
    """As upstream's decoder has it: every number is a double, and objects are found by escaped names."""
    if isinstance(value, dict):
        return JSONObject({key: claims_value(held) for key, held in value.items()})
    if isinstance(value, list):
        return [claims_value(item) for item in value]
    return float(value) if type(value) is int else value


def user_value(user: User) -> dict[str, Any]:
    return {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": JSONObject({key: list(values) for key, values in user.extra.items()}),
    }


def evaluate(program: Program, **variables: Any) -> Any:
    try:
        return program.evaluate(variables)
    except EvaluationError as error:
        raise ExpressionError(f"expression '{program.expression}' resulted in error: {error}") from None


def check(program: Program, message: str, **variables: Any) -> None:
    """ExpressionError, with the message, when a rule is not kept."""
    if not evaluate(program, **variables):
        raise ExpressionError(f"validation expression '{program.expression}' failed: {message}")


def text_list(value: Any) -> tuple[str, ...]:
    """Of a text, a list of texts or null; empty ones are left out."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ExpressionError(_NO_LIST)
    return tuple(item for item in value if item)
