"""What mutations are written with: `JSONPatch{op: 'add', ...}` and the escaping of keys in its paths."""

from __future__ import annotations

from kapi.cel import prices
from kapi.cel.declarations import ANYTHING, TEXT, Declaration, Field, object_of
from kapi.cel.functions import Library, overload
from kapi.cel.types import STRING

PATCH_NAME = "JSONPatch"
OBJECT_NAME = "Object"


def escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def patch_declaration() -> Declaration:
    fields = {name: Field(name=name, declaration=TEXT) for name in ("op", "path", "from")}
    return object_of(PATCH_NAME, {**fields, "value": Field(name="value", declaration=ANYTHING)})


def library() -> Library:
    return Library(
        functions={
            "jsonpatch.escapeKey": (
                overload("string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key, prices.traversal),
            )
        }
    )
