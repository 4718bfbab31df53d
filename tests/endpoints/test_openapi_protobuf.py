"""OpenAPI documents as protobuf, read back with a decoder that knows gnostic's numbers."""

from __future__ import annotations

import struct
from typing import Any

from kapi.endpoints.openapi.protobuf_v3 import document


def fields(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a message: number, and value as varint, eight bytes or bytes."""
    found: list[tuple[int, Any]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 1:
            found.append((key >> 3, struct.unpack("<d", data[at : at + 8])[0]))
            at += 8
        else:
            size = varint()
            found.append((key >> 3, data[at : at + size]))
            at += size
    return found


def one(data: bytes, *path: int) -> Any:
    for number in path:
        data = dict(fields(data))[number]
    return data


def schema_of(schema: dict[str, Any]) -> dict[int, Any]:
    content = {
        "openapi": "3.0.0",
        "info": {"title": "T", "version": "V"},
        "paths": {},
        "components": {"schemas": {"S": schema}},
    }
    named = one(document(content), 5, 1, 1)
    assert one(named, 1) == b"S"
    return dict(fields(one(named, 2, 1)))


def test_an_operation_has_its_parameters_body_and_answers() -> None:
    reference = {"$ref": "#/components/schemas/S"}
    operation = {
        "tags": ["t"],
        "operationId": "id",
        "parameters": [{"name": "p", "in": "query", "schema": {"type": "boolean"}}],
        "requestBody": {"content": {"application/json": {"schema": reference}}, "required": True},
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
        "x-kubernetes-action": "get",
    }
    data = document(
        {
            "openapi": "3.0.0",
            "info": {"title": "T", "version": "V"},
            "paths": {"/p": {"post": operation}},
            "components": {
                "schemas": {},
                "securitySchemes": {"B": {"type": "apiKey", "name": "authorization", "in": "header"}},
            },
        }
    )
    assert (one(data, 1), one(data, 2, 1), one(data, 2, 6)) == (b"3.0.0", b"T", b"V")
    assert (one(data, 4, 1, 1), one(data, 5, 7, 1, 2, 1, 3)) == (b"/p", b"authorization")
    found = one(data, 4, 1, 2, 6)
    assert (one(found, 1), one(found, 5)) == (b"t", b"id")
    assert (one(found, 6, 1, 1), one(found, 6, 1, 10, 1, 25)) == (b"p", b"boolean")
    assert (one(found, 7, 1, 2, 1, 2, 1, 2, 1), one(found, 7, 1, 3)) == (b"#/components/schemas/S", 1)
    assert (one(found, 8, 2, 1), one(found, 8, 2, 2, 1, 3, 1, 1)) == (b"200", b"application/json")
    assert (one(found, 13, 1), one(found, 13, 2, 2)) == (b"x-kubernetes-action", b'"get"')


def test_a_schema_keeps_what_it_says() -> None:
    found = schema_of(
        {
            "type": "object",
            "required": ["a"],
            "minimum": 0.5,
            "maxLength": 300,
            "nullable": True,
            "default": "",
            "additionalProperties": False,
            "properties": {"a": {"type": "array", "items": {"$ref": "#/r"}}},
            "anyOf": [{"type": "integer"}],
        }
    )
    assert (found[25], found[23], found[13], found[15], found[1]) == (b"object", b"a", 0.5, 300, 1)
    assert (fields(found[33]), fields(found[32])) == ([(3, b"")], [(2, 0)])
    assert one(found[31], 1, 2, 1, 30, 1, 2, 1) == b"#/r"
    assert one(found[28], 1, 25) == b"integer"


def test_a_default_that_is_no_plain_value_has_no_room() -> None:
    assert 33 not in schema_of({"type": "object", "default": {}})
    assert fields(schema_of({"default": 3})[33]) == [(1, 3.0)]
    assert fields(schema_of({"default": False})[33]) == [(2, 0)]
