"""Types for the patch tests: built-in ones as the server has them, and small ones made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapi.schema.loader import type_of
from kapi.schema.types import Field, Topology, Type

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
    """A type from a short form: "string", {"field": x}, {"*": x}, ["set", x], ["map", x, key...], ["atomic", x].

    An object with {"#": "atomic"} is atomic, with {"#": "open"} it preserves unknown fields; a field (x, value) has a
    default.
    """
    if isinstance(description, str):
        return Type(description)  # type: ignore[arg-type]
    if isinstance(description, list):
        topology, element, *keys = description
        return Type("list", element=lambda: made(element), topology=topology, map_keys=tuple(keys))
    if "*" in description:
        return Type("map", element=lambda: made(description["*"]))
    mark = description.get("#")
    fields = {name: _field(name, inner) for name, inner in description.items() if name != "#"}
    topology: Topology = "atomic" if mark == "atomic" else "granular"
    return Type("object", fields=fields, topology=topology, preserve_unknown=mark == "open")


def _field(name: str, inner: Any) -> Field:
    if isinstance(inner, tuple):
        inner, default = inner
        return Field(name, lambda: made(inner), default=default, has_default=True)
    return Field(name, lambda: made(inner))


@pytest.fixture(scope="session")
def make_type() -> MakeType:
    """Custom types: a root without a name, so that nothing exists before it is set."""
    return made
