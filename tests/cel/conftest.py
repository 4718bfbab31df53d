"""Evaluating an expression in Kubernetes' environment."""

from collections.abc import Callable
from typing import Any

import pytest

from kapi.cel.declarations import ANYTHING
from kapi.cel.kubernetes import base_environment


@pytest.fixture
def evaluate() -> Callable[..., Any]:
    """Evaluate with variables of any type."""

    def run(expression: str, **variables: Any) -> Any:
        environment = base_environment().extend(dict.fromkeys(variables, ANYTHING))
        return environment.compile(expression).evaluate(variables)

    return run
