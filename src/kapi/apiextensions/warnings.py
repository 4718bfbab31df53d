"""What the author of a definition is warned of: formats nobody knows, and sets that apply cannot merge."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from kapi.api.call import Call
from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.schema.empties import as_nothing
from kapi.schema.structural_formats import is_supported

_INNER = ("not", "items", "additionalProperties", "additionalItems")


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    """Of what is new in the definition."""
    spec = orjson.dumps(new["spec"], as_nothing, orjson.OPT_PASSTHROUGH_SUBCLASS)
    if b'"format":' not in spec and b'"x-kubernetes-list-type":' not in spec:
        return []
    before = set(_found(old["spec"])) if old is not None else set()
    formats: list[str] = []
    sets: list[str] = []
    for text in _found(new["spec"]):
        if text not in before:
            (sets if text.startswith("x-") else formats).append(text)
    return [*dict.fromkeys(formats), *sorted(set(sets))]


def _found(spec: Object) -> Iterator[str]:
    for version in spec.get("versions") or ():
        for schema in _schemas((version.get("schema") or {}).get("openAPIV3Schema")):
            format_, kind = schema.get("format"), schema.get("type", "")
            if format_ and not is_supported(kind, format_):
                yield f"unrecognized format {go_quote(format_)}"
            items = schema.get("items")
            if schema.get("x-kubernetes-list-type") == "set" and isinstance(items, dict):
                inner = items.get("type")
                if inner in ("object", "array"):
                    yield (
                        f"x-kubernetes-list-type: set for items of type {go_quote(inner)} is not supported by "
                        "server-side apply or CEL validation rules"
                    )


def _schemas(schema: object) -> Iterator[Object]:
    """A schema and all in it."""
    if isinstance(schema, list):
        for each in schema:
            yield from _schemas(each)
    elif isinstance(schema, dict):
        yield schema
        for key in (*_INNER, "allOf", "anyOf", "oneOf"):
            yield from _schemas(schema.get(key))
        for key in ("properties", "patternProperties", "definitions"):
            yield from _schemas(list((schema.get(key) or {}).values()))
