"""Python functions that others bring: named by a flag, or by an entry point of an installed package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from kapi.apiextensions.conversion import Function

ADMISSION, CONVERSIONS = "kapi.admission", "kapi.conversions"


class ExtensionError(Exception):
    """A function that cannot be loaded; the message says which, and why."""


def load(reference: str) -> Any:
    """What `package.module:name` refers to. Raises ExtensionError."""
    module, _, path = reference.partition(":")
    if not module or not path:
        raise ExtensionError(f"{reference!r} is not of the form package.module:function")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise ExtensionError(f"cannot load {reference}: {error}") from None
    return found


def installed(group: str) -> Iterator[tuple[str, str]]:
    """The names and references that installed packages give in an entry point group.

    The files are looked into here because importlib.metadata takes longer to load than this server may to start.
    """
    section = f"[{group}]".encode()
    for place in dict.fromkeys(sys.path):
        try:
            names = [entry.name for entry in os.scandir(place) if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in sorted(names):
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                    content = file.read()
            except OSError:
                continue
            if section in content:
                yield from _entries(content.decode(), group)


def _entries(content: str, group: str) -> Iterator[tuple[str, str]]:
    from configparser import ConfigParser  # few packages bring anything

    parser = ConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(content)
    yield from parser.items(group)


def admission_functions(modules: Iterable[str]) -> list[Callable[..., Any]]:
    """Those of the modules, and those that installed packages name. Raises ExtensionError."""
    references = [*modules, *(reference for _, reference in installed(ADMISSION))]
    if not references:
        return []
    from kapi.admission.functions import marked  # few have any

    found: list[Callable[..., Any]] = []
    for reference in references:
        if ":" in reference:
            found.append(_function(reference))
            continue
        try:
            functions = marked(import_module(reference))
        except ImportError as error:
            raise ExtensionError(f"cannot load {reference}: {error}") from None
        if not functions:
            raise ExtensionError(f"{reference} has no function that is marked with @admission")
        found += functions
    return found


class ConversionFunctions:
    """By the name of the definition they convert. Packages are looked through when the first name is asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        """Raises ExtensionError."""
        self._functions: dict[str, Function] = {name: _function(reference) for name, reference in given.items()}
        self._references: dict[str, str] | None = None

    def __call__(self, name: str) -> Function | None:
        if self._references is None:
            self._references = dict(installed(CONVERSIONS))
        if name not in self._functions and name in self._references:
            self._functions[name] = _function(self._references[name])
        return self._functions.get(name)


def _function(reference: str) -> Callable[..., Any]:
    found = load(reference)
    if not callable(found):
        raise ExtensionError(f"{reference} is not a function")
    function: Callable[..., Any] = found
    return function
