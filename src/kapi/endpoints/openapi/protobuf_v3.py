"""A version 3 document as protobuf. Field numbers are those of gnostic's openapi.v3 messages."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from kapi.api.objects import Object
from kapi.endpoints.openapi.messages import any_value, extensions, flag, message, named, text, texts, varint

_METHODS = {"get": 4, "put": 5, "post": 6, "delete": 7, "options": 8, "head": 9, "patch": 10}
_DOUBLES = {"multipleOf": 10, "maximum": 11, "minimum": 13}
_COUNTS = {"maxLength": 15, "minLength": 16, "maxItems": 18, "minItems": 19, "maxProperties": 21, "minProperties": 22}
_FLAGS = {"nullable": 1, "exclusiveMaximum": 12, "exclusiveMinimum": 14, "uniqueItems": 20}
_TEXTS = {"title": 9, "pattern": 17, "type": 25, "description": 34, "format": 35}
_CHOICES = {"allOf": 26, "oneOf": 27, "anyOf": 28}


def document(content: Object) -> bytes:
    """The whole document."""
    info, components = content["info"], content["components"]
    schemes = components.get("securitySchemes", {})
    return b"".join(
        (
            text(1, content["openapi"]),
            message(2, text(1, info["title"]) + text(6, info["version"])),
            message(4, named(1, content["paths"], _path)),
            message(
                5,
                message(1, named(1, components["schemas"], _schema_or_reference))
                + (message(7, named(1, schemes, lambda scheme: message(1, _scheme(scheme)))) if schemes else b""),
            ),
        )
    )


def _scheme(scheme: Object) -> bytes:
    return text(1, scheme["type"]) + text(3, scheme["name"]) + text(4, scheme["in"])


def _path(item: Object) -> bytes:
    operations = (message(_METHODS[m], _operation(o)) for m, o in item.items() if m in _METHODS)
    return b"".join(operations) + _parameters(13, item.get("parameters", ()))


def _operation(operation: Object) -> bytes:
    body = operation.get("requestBody")
    return b"".join(
        (
            texts(1, operation.get("tags", ())),
            text(3, operation.get("description")),
            text(5, operation["operationId"]),
            _parameters(6, operation.get("parameters", ())),
            message(7, message(1, _body(body))) if body is not None else b"",
            message(8, named(2, operation["responses"], lambda answer: message(1, _response(answer)))),
            extensions(13, operation),
        )
    )


def _body(body: Object) -> bytes:
    return text(1, body.get("description")) + message(2, _content(body["content"])) + flag(3, body.get("required"))


def _response(answer: Object) -> bytes:
    content = message(3, _content(answer["content"])) if "content" in answer else b""
    return text(1, answer.get("description")) + content


def _content(content: Object) -> bytes:
    return named(1, content, lambda media: message(1, _schema_or_reference(media["schema"])))


def _parameters(field: int, parameters: Iterable[Object]) -> bytes:
    return b"".join(message(field, message(1, _parameter(parameter))) for parameter in parameters)


def _parameter(parameter: Object) -> bytes:
    return b"".join(
        (
            text(1, parameter["name"]),
            text(2, parameter["in"]),
            text(3, parameter.get("description")),
            flag(4, parameter.get("required")),
            message(10, _schema_or_reference(parameter["schema"])) if "schema" in parameter else b"",
        )
    )


def _schema_or_reference(schema: Mapping[str, Any]) -> bytes:
    if "$ref" in schema:
        return message(2, text(1, schema["$ref"]))
    return message(1, _schema(schema))


def _schema(schema: Mapping[str, Any]) -> bytes:
    additional = schema.get("additionalProperties")
    parts = [flag(number, schema.get(name)) for name, number in _FLAGS.items()]
    parts += [_double(number, schema[name]) for name, number in _DOUBLES.items() if name in schema]
    parts += [varint(number << 3) + varint(schema[name]) for name, number in _COUNTS.items() if name in schema]
    parts += [text(number, schema.get(name)) for name, number in _TEXTS.items()]
    parts.append(texts(23, schema.get("required", ())))
    parts += [message(24, any_value(value)) for value in schema.get("enum", ())]
    for name, number in _CHOICES.items():
        parts += [message(number, _schema_or_reference(choice)) for choice in schema.get(name, ())]
    if "not" in schema:
        parts.append(message(29, _schema(schema["not"])))
    if "items" in schema:
        parts.append(message(30, message(1, _schema_or_reference(schema["items"]))))
    if "properties" in schema:
        parts.append(message(31, named(1, schema["properties"], _schema_or_reference)))
    if isinstance(additional, Mapping):
        parts.append(message(32, message(1, _schema_or_reference(additional))))
    elif additional is not None:
        parts.append(message(32, varint(2 << 3) + (b"\x01" if additional else b"\x00")))
    parts += [_default(schema["default"]) if "default" in schema else b"", extensions(36, schema)]
    return b"".join(parts)


def _double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def _default(value: Any) -> bytes:
    """The message has room for plain values alone; what is none is left out."""
    if isinstance(value, bool):
        return message(33, varint(2 << 3) + (b"\x01" if value else b"\x00"))
    if isinstance(value, (int, float)):
        return message(33, _double(1, value))
    if isinstance(value, str):
        return message(33, varint(3 << 3 | 2) + varint(len(value.encode())) + value.encode())
    return b""
