"""The version 2 document as protobuf: the form that kubectl asks for when it checks a manifest.

Field numbers are those of gnostic's openapi.v2 messages, the wire contract of that form. Extensions (`x-…`) travel as
YAML text, which JSON is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from kapi.api.objects import Object

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str | None) -> bytes:
    return _bytes(field, text.encode()) if text else b""


def _texts(field: int, texts: Iterable[str]) -> bytes:
    return b"".join(_bytes(field, text.encode()) for text in texts)


def _flag(field: int, value: bool) -> bytes:
    return _varint(field << 3) + b"\x01" if value else b""


def _any(value: Any) -> bytes:
    return _bytes(2, orjson.dumps(value))


def _named(field: int, pairs: Mapping[str, Any], write: Callable[[Any], bytes]) -> bytes:
    """A map: name and value, one message each."""
    return b"".join(_bytes(field, _text(1, name) + _bytes(2, write(value))) for name, value in pairs.items())


def _extensions(field: int, of: Mapping[str, Any]) -> bytes:
    return _named(field, {name: value for name, value in of.items() if name.startswith("x-")}, _any)


def document(content: Object) -> bytes:
    """The whole document."""
    info = content["info"]
    security = content["securityDefinitions"]
    return b"".join(
        (
            _text(1, content["swagger"]),
            _bytes(2, _text(1, info["title"]) + _text(2, info["version"])),
            _bytes(8, _named(2, content["paths"], _path)),
            _bytes(9, _named(1, content["definitions"], _schema)),
            *(_bytes(12, _named(1, one, lambda scopes: _texts(1, scopes))) for one in content["security"]),
            _bytes(13, _named(1, security, lambda scheme: _bytes(2, _api_key(scheme)))),
        )
    )


def _api_key(scheme: Object) -> bytes:
    return _text(1, scheme["type"]) + _text(2, scheme["name"]) + _text(3, scheme["in"])


def _path(item: Object) -> bytes:
    operations = (_bytes(_METHODS[m], _operation(o)) for m, o in item.items() if m in _METHODS)
    return b"".join(operations) + _parameters(9, item.get("parameters", ()))


def _operation(operation: Object) -> bytes:
    return b"".join(
        (
            _texts(1, operation.get("tags", ())),
            _text(3, operation.get("description")),
            _text(5, operation["operationId"]),
            _texts(6, operation.get("produces", ())),
            _texts(7, operation.get("consumes", ())),
            _parameters(8, operation.get("parameters", ())),
            _bytes(9, _named(1, operation["responses"], lambda answer: _bytes(1, _response(answer)))),
            _extensions(13, operation),
        )
    )


def _response(answer: Object) -> bytes:
    schema = _bytes(2, _bytes(1, _schema(answer["schema"]))) if "schema" in answer else b""
    return _text(1, answer["description"]) + schema


def _parameters(field: int, parameters: Iterable[Object]) -> bytes:
    return b"".join(_bytes(field, _bytes(1, _parameter(parameter))) for parameter in parameters)


def _parameter(parameter: Object) -> bytes:
    required, name = parameter.get("required", False), parameter["name"]
    if parameter["in"] == "body":
        body = _text(2, name) + _text(3, "body") + _flag(4, required) + _bytes(5, _schema(parameter["schema"]))
        return _bytes(1, body)
    head = _flag(1, required) + _text(2, parameter["in"]) + _text(4, name)
    unique = parameter.get("uniqueItems", False)
    if parameter["in"] == "path":
        return _bytes(2, _bytes(4, head + _text(5, parameter["type"]) + _flag(19, unique)))
    return _bytes(2, _bytes(3, head + _text(6, parameter["type"]) + _flag(20, unique)))


def _schema(schema: Mapping[str, Any]) -> bytes:
    additional = schema.get("additionalProperties")
    return b"".join(
        (
            _text(1, schema.get("$ref")),
            _text(2, schema.get("format")),
            _text(4, schema.get("description")),
            _bytes(5, _any(schema["default"])) if "default" in schema else b"",
            _texts(19, schema.get("required", ())),
            b"".join(_bytes(20, _any(value)) for value in schema.get("enum", ())),
            _bytes(21, _bytes(1, _schema(additional))) if isinstance(additional, Mapping) else b"",
            _bytes(22, _text(1, schema["type"])) if "type" in schema else b"",
            _bytes(23, _bytes(1, _schema(schema["items"]))) if "items" in schema else b"",
            _bytes(25, _named(1, schema["properties"], _schema)) if "properties" in schema else b"",
            _extensions(31, schema),
        )
    )
