"""Columns of workloads: counts, and with -o wide the containers, images and selector of their pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object, validate_label_selector
from kapi.registry.table import Column, field_value


def count(name: str, *path: str, description: str = "") -> Column:
    return Column(name, field_value(*path, absent=0), type="integer", description=description)


def nested(decoded: Object, *path: str) -> Any:
    return field_value(*path, absent=None)(decoded)


def containers(*template: str) -> tuple[Column, Column]:
    """The names and the images of the containers in the template at this path."""

    def joined(field: str) -> Callable[[Object], str]:
        def text(decoded: Object) -> str:
            return ",".join(c.get(field, "") for c in nested(decoded, *template, "spec", "containers") or ())

        return text

    return (
        Column("Containers", joined("name"), priority=1, description="Names of the containers in the template."),
        Column("Images", joined("image"), priority=1, description="Images of the containers in the template."),
    )


def selector_text(selector: Object | None) -> str:
    """As a query would write it; empty when it selects nothing or everything."""
    if not selector:
        return ""
    if validate_label_selector(selector, "selector"):
        return "<invalid>"
    return str(selector_from_object(selector))


def labels_text(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def selector(*path: str, empty: str = "<none>") -> Column:
    return Column(
        "Selector",
        lambda decoded: selector_text(nested(decoded, *path)) or empty,
        priority=1,
        description="Which pods belong to the object.",
    )
