"""From registrations to plugins: a module is imported only if its plugin runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import TypeAlias, cast

from kapi.admission.chain import Plugin
from kapi.admission.configuration import ConfigurationError
from kapi.admission.order import Registration
from kapi.admission.services import Services
from kapi.api.objects import Object

Build: TypeAlias = Callable[[Services, Object | None], Plugin]


def build_plugins(
    registrations: Collection[Registration], services: Services, configurations: Mapping[str, Object]
) -> list[Plugin]:
    """Raises ConfigurationError."""
    built = []
    for registration in registrations:
        if not registration.module:
            continue
        build = cast(Build, import_module(f"kapi.admission.plugins.{registration.module}").build)
        try:
            built.append(build(services, configurations.get(registration.name)))
        except ConfigurationError as error:
            raise ConfigurationError(f'failed to initialize admission plugin "{registration.name}": {error}') from None
    return built
