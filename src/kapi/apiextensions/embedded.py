"""Embedded resources: objects inside a custom resource, which must be objects of Kubernetes in their own right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi.api.fields import FieldError, invalid, required
from kapi.api.gvk import GroupVersion
from kapi.api.names import dns_1035_label, path_segment
from kapi.api.objects import Object
from kapi.registry.metadata import validate_object_meta
from kapi.schema.structural import Structural
from kapi.schema.structural_embedded import embedded

_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_embedded(
    node: Structural, value: Any, path: str = "", *, is_resource: bool = False
) -> Iterator[FieldError]:
    """What is wrong with the kinds and metadata of all resources embedded in a value."""
    for at, resource in embedded(node, value, path, is_resource=is_resource):
        yield from _validate_resource(resource, at)


def _validate_resource(value: Object, path: str) -> Iterator[FieldError]:
    prefix = f"{path}." if path else ""
    for field in ("apiVersion", "kind"):
        if field not in value:
            yield required(f"{prefix}{field}")
    for field, item in value.items():
        if field == "apiVersion":
            yield from _validate_api_version(item, f"{prefix}apiVersion")
        elif field == "kind":
            yield from _validate_kind(item, f"{prefix}kind")
        elif field == "metadata" and isinstance(item, dict):
            metadata = {"name": "fakename", **item}
            yield from validate_object_meta(
                {**metadata, "name": metadata["name"] or "fakename"},
                namespaced=bool(item.get("namespace")),
                validate_name=path_segment,
                path=f"{prefix}metadata",
                any_finalizer=True,
            )


def _validate_api_version(item: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(item, str):
        yield invalid(path, item, "must be a string")
    elif not item:
        yield invalid(path, item, "must not be empty")
    else:
        try:
            GroupVersion.parse(item)
        except ValueError as error:
            yield invalid(path, item, str(error))


def _validate_kind(item: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(item, str):
        yield invalid(path, item, "must be a string")
    elif not item:
        yield invalid(path, item, "must not be empty")
    elif errors := dns_1035_label(item.lower()):
        yield invalid(path, item, _MIXED_CASE + ",".join(errors))
