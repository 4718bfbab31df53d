"""What happens to every object on its way in: system fields, strategy, validation (rest.BeforeCreate, BeforeUpdate)."""

from __future__ import annotations

import random

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import rfc3339
from kapi.api.fields import FieldError, invalid
from kapi.api.gvk import GroupKind
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.api.uid import new_uid
from kapi.registry.metadata import validate_object_meta, validate_object_meta_update
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 63 - 5
OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


class BadResourceVersion(errors.APIError):
    """As upstream: a 500 without a reason."""

    def __init__(self, text: str) -> None:
        super().__init__(f'strconv.ParseUint: parsing "{text}": invalid syntax')


def generate_name(base: str) -> str:
    return base[:_LONGEST_BASE] + "".join(random.choice(_ALPHABET) for _ in range(5))


def give_name(metadata: Object) -> None:
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(metadata["generateName"])


def before_create(call: Call, resource: Resource, new: Object, now: float) -> None:
    strategy, metadata = resource.strategy, new["metadata"]
    metadata.pop("deletionTimestamp", None)
    metadata.pop("deletionGracePeriodSeconds", None)
    metadata.pop("selfLink", None)
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = rfc3339(now)
    if not resource.names.namespaced:
        metadata.pop("namespace", None)
    give_name(metadata)
    if strategy.prepare_for_create is not None:
        strategy.prepare_for_create(call, new)
    found = [] if strategy.metadata_last else _metadata_errors(resource, new)
    if strategy.validate is not None:
        found += strategy.validate(call, new)
    if strategy.metadata_last and not found:
        found = _metadata_errors(resource, new)
    name = metadata.get("name", "")
    if not found and name:
        found = [invalid("metadata.name", name, e) for e in path_segment(name)]
    if found:
        raise errors.Invalid(resource.group_kind, name, found)
    _finish(call, strategy, new, None)


def _metadata_errors(resource: Resource, new: Object) -> list[FieldError]:
    strategy = resource.strategy
    return validate_object_meta(
        new["metadata"],
        namespaced=resource.names.namespaced,
        validate_name=strategy.validate_name if strategy.validate_name_of is None else strategy.validate_name_of(new),
        any_finalizer=strategy.any_finalizer,
    )


def before_update(call: Call, resource: Resource, strategy: Strategy, new: Object, old: Object) -> None:
    """`new` has been checked against the resourceVersion it names."""
    metadata, former = new["metadata"], old["metadata"]
    for field in ("name", "namespace"):
        if field in former:
            metadata.setdefault(field, former[field])
    if not metadata.get("uid"):
        metadata["uid"] = former.get("uid", "")
    for field in ("creationTimestamp", "generation", "selfLink"):
        if field in former:
            metadata[field] = former[field]
        else:
            metadata.pop(field, None)
    if "deletionTimestamp" in former:
        metadata["deletionTimestamp"] = former["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in former:
        metadata.setdefault("deletionGracePeriodSeconds", former["deletionGracePeriodSeconds"])
    if strategy.prepare_for_update is not None:
        strategy.prepare_for_update(call, new, old)
    found = validate_object_meta_update(new["metadata"], former, any_finalizer=strategy.any_finalizer)
    if strategy.validate_update is not None:
        found += strategy.validate_update(call, new, old)
    if found:
        raise errors.Invalid(resource.group_kind, former.get("name", ""), found)
    _finish(call, strategy, new, old)


def _finish(call: Call, strategy: Strategy, new: Object, old: Object | None) -> None:
    # As upstream: warnings and canonical form only once the object is known to be valid.
    if strategy.warnings is not None:
        for text in strategy.warnings(call, new, old):
            call.warn(text)
    if strategy.canonicalize is not None:
        strategy.canonicalize(new)


def check_resource_version(resource: Resource, strategy: Strategy, new: Object, old: Object) -> None:
    """An update that names a version must name the current one."""
    name = old["metadata"].get("name", "")
    wanted = new["metadata"].get("resourceVersion") or ""
    if not wanted or wanted == "0":
        if not strategy.unconditional_update:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            # Named by resource, not by kind: as upstream.
            raise errors.Invalid(GroupKind(*resource.group_resource), name, [error])
    elif not wanted.isdecimal():
        raise BadResourceVersion(wanted)
    elif wanted != old["metadata"]["resourceVersion"]:
        raise errors.Conflict(resource.group_resource, name, OPTIMISTIC_LOCK)
