"""The version 2 document as protobuf: the form that kubectl asks for when it checks a manifest.

Field numbers are those of gnostic's openapi.v2 messages, the wire contract of that form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kapi.api.objects import Object
from kapi.endpoints.openapi.messages import any_value, extensions, flag, message, named, text, texts

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def document(content: Object) -> bytes:
    """The whole document."""
    info = content["info"]
    security = content["securityDefinitions"]
    return b"".join(
        (
            text(1, content["swagger"]),
            message(2, text(1, info["title"]) + text(2, info["version"])),
            message(8, named(2, content["paths"], _path)),
            message(9, named(1, content["definitions"], _schema)),
            *(message(12, named(1, one, lambda scopes: texts(1, scopes))) for one in content["security"]),
            message(13, named(1, security, lambda scheme: message(2, _api_key(scheme)))),
        )
    )


def _api_key(scheme: Object) -> bytes:
    return text(1, scheme["type"]) + text(2, scheme["name"]) + text(3, scheme["in"])


def _path(item: Object) -> bytes:
    operations = (message(_METHODS[m], _operation(o)) for m, o in item.items() if m in _METHODS)
    return b"".join(operations) + _parameters(9, item.get("parameters", ()))


def _operation(operation: Object) -> bytes:
    return b"".join(
        (
            texts(1, operation.get("tags", ())),
            text(3, operation.get("description")),
            text(5, operation["operationId"]),
            texts(6, operation.get("produces", ())),
            texts(7, operation.get("consumes", ())),
            _parameters(8, operation.get("parameters", ())),
            message(9, named(1, operation["responses"], lambda answer: message(1, _response(answer)))),
            extensions(13, operation),
        )
    )


def _response(answer: Object) -> bytes:
    schema = message(2, message(1, _schema(answer["schema"]))) if "schema" in answer else b""
    return text(1, answer["description"]) + schema


def _parameters(field: int, parameters: Iterable[Object]) -> bytes:
    return b"".join(message(field, message(1, _parameter(parameter))) for parameter in parameters)


def _parameter(parameter: Object) -> bytes:
    required, name = parameter.get("required", False), parameter["name"]
    if parameter["in"] == "body":
        body = text(2, name) + text(3, "body") + flag(4, required) + message(5, _schema(parameter["schema"]))
        return message(1, body)
    head = flag(1, required) + text(2, parameter["in"]) + text(4, name)
    unique = parameter.get("uniqueItems", False)
    if parameter["in"] == "path":
        return message(2, message(4, head + text(5, parameter["type"]) + flag(19, unique)))
    return message(2, message(3, head + text(6, parameter["type"]) + flag(20, unique)))


def _schema(schema: Mapping[str, Any]) -> bytes:
    additional = schema.get("additionalProperties")
    return b"".join(
        (
            text(1, schema.get("$ref")),
            text(2, schema.get("format")),
            text(4, schema.get("description")),
            message(5, any_value(schema["default"])) if "default" in schema else b"",
            texts(19, schema.get("required", ())),
            b"".join(message(20, any_value(value)) for value in schema.get("enum", ())),
            message(21, message(1, _schema(additional))) if isinstance(additional, Mapping) else b"",
            message(22, text(1, schema["type"])) if "type" in schema else b"",
            message(23, message(1, _schema(schema["items"]))) if "items" in schema else b"",
            message(25, named(1, schema["properties"], _schema)) if "properties" in schema else b"",
            extensions(31, schema),
        )
    )
