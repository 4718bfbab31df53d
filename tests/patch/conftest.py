"""Types for the patch tests: built-in ones as the server has them, and small ones made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapi.schema.loader import type_of
from kapi.schema.types import Field, Type

MakeType = Callable[[Any], Type]


@pytest.fixture(scope="session")
def config_map() -> Type:
    return type_of("", "v1", "ConfigMap")


@pytest.fixture(scope="session")
def pod() -> Type:
    return type_of("", "v1", "Pod")


@pytest.fixture(scope="session")
def service() -> Type:
    return type_of("", "v1", "Service")


@pytest.fixture(scope="session")
def deployment() -> Type:
    return type_of("apps", "v1", "Deployment")


def made(description: Any) -> Type:
    """A type from a short form: "string", {"field": ...}, ["set", x], ["map", x, key...], ["atomic", x], {"*": values}."""
    if isinstance(description, str):
        return Type(description)  # type: ignore[arg-type]
    if isinstance(description, list):
        topology, element, *keys = description
        return Type("list", element=lambda: made(element), topology=topology, map_keys=tuple(keys))
    if "*" in description:
        return Type("map", element=lambda: made(description["*"]))
    atomic = description.get("#") == "atomic"
    fields = {name: _field(name, inner) for name, inner in description.items() if name != "#"}
    return Type("object", fields=fields, topology="atomic" if atomic else "granular")


def _field(name: str, inner: Any) -> Field:
    if isinstance(inner, tuple):
        inner, default = inner
        return Field(name, lambda: made(inner), default=default, has_default=True)
    return Field(name, lambda: made(inner))


@pytest.fixture(scope="session")
def make_type() -> MakeType:
    """Custom types: a root without a name, so that nothing exists before it is set."""
    return made
