"""Rules for what a definition's version says besides its schema: deprecation, subresources, columns, selection."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.api.fields import FieldError, duplicate, invalid, required, too_many
from kapi.api.objects import Object
from kapi.apiextensions.field_path import InvalidFieldPath, follow
from kapi.schema.structural import Structural

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_NO_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"
_NO_SHARED_SCHEMA = "may only be set when validations.schema is included"
_MOST_SELECTABLE = 8
_LONGEST_WARNING = 256


def validate_deprecation(version: Object, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    at = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        yield invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _LONGEST_WARNING:
        yield invalid(at, warning, "must be <= 256 characters long")
    if not warning:
        yield invalid(at, warning, "must not be an empty string")
    position = 0
    for c in warning:
        if not c.isprintable():
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {position}"
            yield invalid(at, warning, why)
            return
        position += len(c.encode())


def validate_subresources(subresources: Object | None, path: str) -> Iterator[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        at, value = f"{path}.scale.{field}", scale.get(field, "")
        if not value:
            yield required(at)
        elif why := _no_simple_path(value):
            yield invalid(at, value, why)
        elif not value.startswith(root):
            yield invalid(at, value, f"should be a json path under {root[:-1]}")
    selector = scale.get("labelSelectorPath")
    if selector:
        at = f"{path}.scale.labelSelectorPath"
        if why := _no_simple_path(selector):
            yield invalid(at, selector, why)
        elif not selector.startswith((".spec.", ".status.")):
            yield invalid(at, selector, "should be a json path under either .spec or .status")


def _no_simple_path(path: str) -> str:
    return "" if path.startswith(".") else "must be a simple json path starting with ."


def validate_columns(columns: list[Object] | None, path: str) -> Iterator[FieldError]:
    types, formats = ",".join(_COLUMN_TYPES), ",".join(_COLUMN_FORMATS)
    for i, column in enumerate(columns or ()):
        at = f"{path}[{i}]"
        if not column.get("name"):
            yield required(f"{at}.name")
        kind, format_, where = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
        if not kind:
            yield required(f"{at}.type", f"must be one of {types}")
        elif kind not in _COLUMN_TYPES:
            yield invalid(f"{at}.type", kind, f"must be one of {types}")
        if format_ and format_ not in _COLUMN_FORMATS:
            yield invalid(f"{at}.format", format_, f"must be one of {formats}")
        if not where:
            yield required(f"{at}.JSONPath")
        elif why := _no_simple_path(where):
            yield invalid(f"{at}.JSONPath", where, why)


def validate_selectable(fields: list[Object] | None, schema: Object | None, path: str) -> Iterator[FieldError]:
    if not fields:
        return
    if schema is None:
        yield invalid(path, "", _NO_SHARED_SCHEMA if path == "spec.selectableFields" else _NO_SCHEMA)
        return
    root = Structural(schema)
    seen: set[tuple[str, ...]] = set()
    for i, field in enumerate(fields):
        where, at = field.get("jsonPath", ""), f"{path}[{i}].jsonPath"
        if not where:
            yield required(at)
            continue
        try:
            names, node = follow(where, root, arrays=False)
        except InvalidFieldPath as error:
            yield invalid(at, where, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            yield invalid(at, where, "must not point to fields in metadata")
        if node.type not in ("string", "boolean", "integer"):
            why = "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            yield invalid(at, where, why + "formats are allowed.")
        if tuple(names) in seen:
            yield duplicate(at, where)
        seen.add(tuple(names))
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)
