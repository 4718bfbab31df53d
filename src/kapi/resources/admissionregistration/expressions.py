"""The CEL expressions of policies and match conditions: do they compile, to the type that is needed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kapi.api.fields import FieldError, internal, invalid, required

if TYPE_CHECKING:
    from kapi.cel.environment import Program
    from kapi.cel.policies import PolicyError
    from kapi.cel.types import CelType


def check_condition(text: str, path: str, *, params: bool) -> Iterator[FieldError]:
    """A match condition: it sees the authorizer but no variables."""
    if not text.strip():
        yield required(path)
        return
    from kapi.cel.types import BOOL  # CEL loads slowly, and most servers meet no expression

    yield from Expressions(params=params).check(text, path, BOOL)


def _refused(path: str, text: str, error: PolicyError) -> FieldError:
    return internal(path, str(error)) if error.internal else invalid(path, text, str(error))


class Expressions:
    """The expressions of one policy; later ones see the variables that earlier ones define."""

    def __init__(self, *, params: bool, variables: bool = False, patches: bool = False) -> None:
        from kapi.cel import policies

        self._cel = policies
        self._params = params
        self._patches = patches
        self._variables: dict[str, CelType] | None = {} if variables else None

    def define(self, name: str, text: str, path: str) -> Iterator[FieldError]:
        """A variable; one that does not compile may be of any type, so that only it is complained about."""
        from kapi.cel.types import ANY, DYN

        assert self._variables is not None, "the policy has variables"
        try:
            found = self._compile(text, (ANY,), authorize=True, patches=False)
        except self._cel.PolicyError as error:
            self._variables[name] = DYN
            yield _refused(path, text, error)
        else:
            self._variables[name] = found.result_type

    def check(self, text: str, path: str, *expected: CelType, authorize: bool = True) -> Iterator[FieldError]:
        try:
            self._compile(text, expected, authorize=authorize, patches=self._patches)
        except self._cel.PolicyError as error:
            yield _refused(path, text, error)

    def _compile(self, text: str, expected: tuple[CelType, ...], *, authorize: bool, patches: bool) -> Program:
        environment = self._cel.policy_environment(params=self._params, authorize=authorize, patches=patches)
        if self._variables is not None:
            environment = self._cel.with_variables(environment, self._variables)
        return self._cel.compile_expression(environment, text.strip(), expected)
