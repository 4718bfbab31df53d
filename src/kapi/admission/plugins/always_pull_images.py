"""AlwaysPullImages: every container's image is pulled anew, so that only those run it who may pull it."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.refusal import all_of, forbidden
from kapi.admission.resources import PODS
from kapi.admission.services import Services
from kapi.api.fields import not_supported
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_KINDS = ("initContainers", "containers", "ephemeralContainers")
_ALWAYS = "Always"


class AlwaysPullImages:
    name = "AlwaysPullImages"

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, "CREATE", "UPDATE", of=(PODS,)),
            validating(self.validate, "CREATE", "UPDATE", of=(PODS,)),
        )

    def mutate(self, attributes: Attributes) -> None:
        if _brings_images(attributes):
            for holder, field, _ in _policies(attributes.object or {}):
                holder[field] = _ALWAYS

    def validate(self, attributes: Attributes) -> None:
        if not _brings_images(attributes):
            return
        problems = [
            str(forbidden(attributes, str(not_supported(path, holder.get(field), [_ALWAYS]))).message)
            for holder, field, path in _policies(attributes.object or {})
            if holder.get(field) != _ALWAYS
        ]
        if problems:
            error = forbidden(attributes, "")
            error.message = all_of(problems)
            raise error


def _policies(pod: Object) -> Iterator[tuple[Object, str, str]]:
    """What says how an image is pulled: where it is kept, under which name, and its path."""
    spec = pod["spec"]
    for kind in _KINDS:
        for i, container in enumerate(spec.get(kind) or ()):
            yield container, "imagePullPolicy", f"spec.{kind}[{i}].imagePullPolicy"
    for i, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield volume["image"], "pullPolicy", f"spec.volumes[{i}].image.pullPolicy"


def _brings_images(attributes: Attributes) -> bool:
    """Whether an image is new to the pod."""
    if attributes.operation != "UPDATE":
        return True
    return not _images(attributes.object or {}) <= _images(attributes.old_object or {})


def _images(pod: Object) -> set[str]:
    return {c.get("image", "") for kind in _KINDS for c in pod["spec"].get(kind) or ()}


def build(_: Services, __: Object | None) -> AlwaysPullImages:
    return AlwaysPullImages()
