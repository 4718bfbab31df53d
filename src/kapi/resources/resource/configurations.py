"""Configurations of devices: opaque to everyone but their driver."""

from __future__ import annotations

import orjson

from kapi.api.fields import FieldError, invalid, required, too_long
from kapi.api.objects import Object
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import declared_driver_name

MOST_BYTES = 10 * 1024


def check_configuration(found: Findings, config: Object, path: str, *, known: bool = False) -> None:
    """`known`: the object had it before; its size is not judged again."""
    opaque = config.get("opaque")
    if opaque is None:
        found.add(required(f"{path}.opaque"))
        return
    found.add(*check_raw(opaque.get("parameters"), f"{path}.opaque.parameters", known=known))
    found.declare(*declared_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver"))


def check_raw(raw: object, path: str, *, known: bool = False) -> list[FieldError]:
    if raw is None:
        return [required(path)]
    if not known and len(orjson.dumps(raw)) > MOST_BYTES:
        return [too_long(path, MOST_BYTES)]
    return [] if isinstance(raw, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]
