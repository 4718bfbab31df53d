"""PodTolerationRestriction: a namespace's pods tolerate what it says by default, and nothing it does not list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.configuration import check_kind
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import Failed
from kapi.admission.resources import NAMESPACES, PODS
from kapi.admission.services import Services
from kapi.admission.tolerations import allowed, merged
from kapi.api.errors import NotFound
from kapi.api.objects import Object
from kapi.codec.json import JSONError
from kapi.codec.json import loads as load_json
from kapi.registry.attributes import Attributes

_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction:
    """`configuration` has the cluster's `default` and `whitelist`, for namespaces without their own."""

    name = "PodTolerationRestriction"

    def __init__(self, configuration: Object, lookup: Lookup, quality_of_service: Callable[[Object], str]) -> None:
        self._configuration = configuration
        self._lookup = lookup
        self._quality = quality_of_service

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, "CREATE", "UPDATE", of=(PODS,)),
            validating(self.validate, "CREATE", "UPDATE", of=(PODS,)),
        )

    async def mutate(self, attributes: Attributes) -> None:
        spec = (attributes.object or {})["spec"]
        extra: list[Object] = []
        if attributes.operation == "CREATE":
            own = await self._of_namespace(attributes.namespace, _DEFAULTS)
            extra = list(self._configuration.get("default") or ()) if own is None else own
        if self._quality(spec) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merged(spec.get("tolerations") or (), extra)
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        tolerations = (attributes.object or {})["spec"].get("tolerations")
        if not tolerations:
            return
        whitelist = await self._of_namespace(attributes.namespace, _WHITELIST)
        whose = "namespace"
        if whitelist is None:
            whitelist, whose = list(self._configuration.get("whitelist") or ()), "cluster"
        if not allowed(tolerations, whitelist):
            what = "pod tolerations (possibly merged with namespace default tolerations)"
            raise Failed(f"{what} conflict with its {whose} whitelist")

    async def _of_namespace(self, name: str, annotation: str) -> list[Object] | None:
        """What the namespace says, if it says so at all."""
        entry = await self._lookup.get(NAMESPACES, "", name)
        if entry is None:
            raise NotFound(NAMESPACES, name)
        text = (decoded(entry)["metadata"].get("annotations") or {}).get(annotation)
        if not text:
            return None if text is None else []
        try:
            found: Any = load_json(text.encode())
        except JSONError as error:
            raise Failed(str(error)) from None
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise Failed("json: cannot unmarshal object into Go value of type []v1.Toleration")
        return found


def build(services: Services, configuration: Object | None) -> PodTolerationRestriction:
    if configuration is not None:
        check_kind(configuration, "Configuration", ("podtolerationrestriction.admission.k8s.io/v1alpha1",))
    return PodTolerationRestriction(configuration or {}, services.lookup, services.pod_resources.quality_of_service)
