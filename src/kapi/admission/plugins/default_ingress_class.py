"""DefaultIngressClass: an ingress that names no class gets the default one."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.default_class import default_class
from kapi.admission.lookup import Lookup
from kapi.admission.resources import INGRESS_CLASSES, INGRESSES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_OLD_CLASS = "kubernetes.io/ingress.class"
_DEFAULT = ("ingressclass.kubernetes.io/is-default-class",)


class DefaultIngressClass:
    name = "DefaultIngressClass"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=(INGRESSES,)),)

    async def mutate(self, attributes: Attributes) -> None:
        ingress = attributes.object or {}
        spec = ingress.setdefault("spec", {})
        if spec.get("ingressClassName") is not None or _OLD_CLASS in (ingress["metadata"].get("annotations") or ()):
            return
        found = default_class(await self._lookup.list(INGRESS_CLASSES), _DEFAULT)
        if found is not None:
            spec["ingressClassName"] = found


def build(services: Services, _: Object | None) -> DefaultIngressClass:
    return DefaultIngressClass(services.lookup)
