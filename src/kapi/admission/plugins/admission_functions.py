"""AdmissionFunctions: the Python functions that flags and installed packages name. Beyond upstream."""

from __future__ import annotations

from kapi.admission.chain import Hook
from kapi.admission.services import Services
from kapi.api.objects import Object


class AdmissionFunctions:
    name = "AdmissionFunctions"

    def __init__(self, services: Services) -> None:
        self._services = services

    def hooks(self) -> tuple[Hook, ...]:
        if not self._services.functions:
            return ()
        from kapi.admission.functions import FunctionPlugin  # only where there are functions

        plugins = [FunctionPlugin(function, self._services) for function in self._services.functions]
        return tuple(hook for plugin in plugins for hook in plugin.hooks())


def build(services: Services, _: Object | None) -> AdmissionFunctions:
    return AdmissionFunctions(services)
