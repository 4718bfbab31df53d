"""What a pod spec must satisfy. Every error is found, in upstream's order and words."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.objects import Object


def validate_pod_template(call: Call, template: Object, path: str, old: Object | None = None) -> list[FieldError]:
    """`old` is the template being replaced, if any: what it already tolerates stays tolerated."""
    return []


def validate_pod_spec(
    call: Call, spec: Object, metadata: Object | None, path: str, old: Object | None = None
) -> list[FieldError]:
    """`old` is the spec being replaced, if any."""
    return []
