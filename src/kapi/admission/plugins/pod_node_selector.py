"""PodNodeSelector: the pods of a namespace run on the nodes that it, or the cluster, selects."""

from __future__ import annotations

from collections.abc import Mapping

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import Failed
from kapi.admission.resources import NAMESPACES, PODS
from kapi.admission.services import Services
from kapi.api.errors import Forbidden, InternalError
from kapi.api.fields import invalid
from kapi.api.names import label_key, label_value
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector:
    """`selectors`: what a namespace's pods may select at most, by namespace, and what is selected by default."""

    name = "PodNodeSelector"

    def __init__(self, selectors: Mapping[str, str], lookup: Lookup) -> None:
        self._selectors = selectors
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=(PODS,)), validating(self.validate, "CREATE", of=(PODS,)))

    async def mutate(self, attributes: Attributes) -> None:
        spec = (attributes.object or {})["spec"]
        selected = {**await self._of_namespace(attributes), **(spec.get("nodeSelector") or {})}
        await self.validate(attributes)
        if selected:
            spec["nodeSelector"] = selected
        self._check_whitelist(attributes, selected)

    async def validate(self, attributes: Attributes) -> None:
        own = (attributes.object or {})["spec"].get("nodeSelector") or {}
        wanted = await self._of_namespace(attributes)
        if any(own.get(key, value) != value for key, value in wanted.items()):
            raise _refused(attributes, _CONFLICT)
        self._check_whitelist(attributes, own)

    def _check_whitelist(self, attributes: Attributes, selected: Mapping[str, str]) -> None:
        whitelist = _labels(self._selectors.get(attributes.namespace) or "")
        if whitelist and any(whitelist.get(key) != value for key, value in selected.items()):
            raise _refused(attributes, "pod node label selector labels conflict with its namespace whitelist")

    async def _of_namespace(self, attributes: Attributes) -> dict[str, str]:
        entry = await self._lookup.get(NAMESPACES, "", attributes.namespace)
        if entry is None:
            raise InternalError(f"namespace {attributes.namespace} does not exist")
        annotations = decoded(entry)["metadata"].get("annotations") or {}
        if _ANNOTATION in annotations:
            return _labels(annotations[_ANNOTATION])
        return _labels(self._selectors.get("clusterDefaultNodeSelector") or "")


def _labels(selector: str) -> dict[str, str]:
    """The labels of a plain `a=b,c=d` selector."""
    found: dict[str, str] = {}
    if not selector:
        return found
    for term in selector.split(","):
        parts = term.split("=")
        if len(parts) != 2:
            raise Failed(f"invalid selector: [{' '.join(parts)}]")
        key, value = (part.strip() for part in parts)
        if problems := label_key(key):
            raise Failed(str(invalid("<nil>", key, "; ".join(problems))))
        if problems := label_value(value):
            raise Failed(str(invalid(f"[{key}]", value, "; ".join(problems))))
        found[key] = value
    return found


def _refused(attributes: Attributes, why: str) -> Forbidden:
    return Forbidden(PODS, (attributes.object or {})["metadata"].get("name", ""), why)


def build(services: Services, configuration: Object | None) -> PodNodeSelector:
    selectors = (configuration or {}).get("podNodeSelectorPluginConfig") or {}
    return PodNodeSelector(selectors, services.lookup)
