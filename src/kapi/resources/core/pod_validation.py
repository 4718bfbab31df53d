"""What a pod must satisfy beyond its spec: what templates are not asked for."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid
from kapi.api.objects import Object
from kapi.resources.podspec.annotations import validate_pod_annotations, validate_profiles_match
from kapi.resources.podspec.containers import validate_image
from kapi.resources.podspec.validation import validate_pod_spec


def validate(call: Call, new: Object) -> list[FieldError]:
    """On create. The metadata has been looked at already."""
    spec = new["spec"]
    errors = validate_pod_annotations(new["metadata"].get("annotations") or {}, spec, "metadata.annotations")
    errors += validate_pod(call, new, None)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors + validate_profiles_match(new["metadata"].get("annotations") or {}, spec, "spec")


def validate_pod(call: Call, new: Object, former: Object | None) -> list[FieldError]:
    """The spec, if it is new or differs from the `former` one."""
    spec = new["spec"]
    if former is not None and spec == former:
        return []
    errors = validate_pod_spec(call, spec, new["metadata"], "spec")
    if not spec.get("serviceAccountName"):
        errors += _validate_no_tokens(spec)
    period = spec.get("terminationGracePeriodSeconds") or 0
    if period < 0:
        errors.append(invalid("spec.terminationGracePeriodSeconds", period, "must be greater than or equal to 0"))
    for field in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(field) or ()):
            errors += validate_image(container, f"spec.{field}[{i}]")
    return errors


def _validate_no_tokens(spec: Object) -> list[FieldError]:
    detail = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken", detail)
        for i, volume in enumerate(spec.get("volumes") or ())
        for j, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]
