"""ConfigMaps: configuration that pods consume."""

from __future__ import annotations

import base64

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, too_long
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.core.keys import config_map_key

MAX_BYTES = 1024 * 1024


def validate(_: Call, new: Object) -> list[FieldError]:
    """Keys are file names, in one of the two maps; all values together are bounded."""
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    errors: list[FieldError] = []
    for key in sorted(data):
        errors += [invalid(f"data[{key}]", key, e) for e in config_map_key(key)]
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in sorted(binary):
        errors += [invalid(f"binaryData[{key}]", key, e) for e in config_map_key(key)]
    size = sum(len(value.encode()) for value in data.values())
    size += sum(len(base64.b64decode(value)) for value in binary.values())
    if size > MAX_BYTES:
        errors.append(too_long("[]", MAX_BYTES))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """An immutable ConfigMap keeps its data, and stays immutable."""
    errors: list[FieldError] = []
    if old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not new.get("immutable"):
            errors.append(forbidden("immutable", why))
        errors += [forbidden(f, why) for f in ("data", "binaryData") if (new.get(f) or {}) != (old.get(f) or {})]
    return errors + validate(call, new)


def count_data(decoded: Object) -> int:
    return len(decoded.get("data") or ()) + len(decoded.get("binaryData") or ())


RESOURCE = Resource(
    group="",
    version="v1",
    kind="ConfigMap",
    strategy=Strategy(validate=validate, validate_update=validate_update),
    columns=(NAME, Column("Data", count_data), AGE),
)
