"""Builds `protobuf.json`, the messages of every served type, from facts about messages, types and Go's struct tags.

    python tools/build_protobuf.py FACTS_DIR src/kapi/schema/data

A message is one string, read when the message is first used: its fields by number, each `number:name:form type`. The
name is JSON's. The form says how often and when the field is written:

    (none) always   ? when it is set   [ each item   { each entry   ^ its fields are the message's   @ a list in JSON

The type is a scalar's, a message's, or one of the words in SPECIAL: types with a JSON form of their own.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SCALARS = frozenset(("string", "bool", "int32", "int64", "double", "bytes"))
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
    f"{META}.Time": "time",
    f"{META}.MicroTime": "micro-time",
    f"{META}.FieldsV1": "raw",
    f"{EXTENSIONS}.JSON": "raw",
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": "schema-or-bool",
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": "schema-or-array",
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
SCHEMA = "apiextensions.v1.JSONSchemaProps"
# The messages of types with a JSON form of their own, and of the envelope. `data` is bytes that JSON does not see.
OWN = {
    "Unknown": "1:typeMeta:TypeMeta 2:raw:?data 3:contentEncoding:string 4:contentType:string",
    "TypeMeta": "1:apiVersion:string 2:kind:string",
    "RawExtension": "1:raw:?data",
    "Quantity": "1:string:?string",
    "IntOrString": "1:type:int64 2:intVal:int32 3:strVal:string",
    "Timestamp": "1:seconds:int64 2:nanos:int32",
    "schema-or-bool": f"1:allows:bool 2:schema:?{SCHEMA}",
    "schema-or-array": f"1:schema:?{SCHEMA} 2:schemas:[{SCHEMA}",
    "schema-or-strings": f"1:schema:?{SCHEMA} 2:property:[string",
}
# Messages that OpenAPI does not describe, with the codes of their fields as in go_fields.json.
UNDESCRIBED: dict[str, Json] = {
    f"{META}.APIGroupList": {},
    f"{META}.APIVersions": {},
    f"{META}.PartialObjectMetadata": {},
    f"{META}.PartialObjectMetadataList": {"items": ""},
    "io.k8s.apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList": {"items": ""},
}
EXTRA_PACKAGES = {"meta.k8s.io/v1": "meta.v1", "meta.k8s.io/v1beta1": "meta.v1beta1"}


def definition_name(message: str) -> str:
    """A message's name as OpenAPI has it."""
    return re.sub(r"^k8s\.io\.", "io.k8s.", message).replace("_", "-")


def short_name(definition: str) -> str:
    """`core.v1.Pod`: enough to tell messages apart."""
    return ".".join(definition.rsplit(".", 3)[1:])


def plain(name: str) -> str:
    """A field's name without what JSON and protobuf write differently."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Builder:
    """Messages by definition, and what OpenAPI and Go say of them."""

    def __init__(self, messages: Json, types: Json, go: Json) -> None:
        self._messages = {definition_name(name): fields for name, fields in messages.items()}
        self._types = types
        self._go = go
        self.built: dict[str, str] = {}

    def described(self, definition: str) -> None:
        package, _, name = definition.rpartition(".")
        properties = self._types[definition].get("properties", {})
        self._build(definition, properties, self._go.get(package, {}).get(name, {}))

    def _build(self, definition: str, properties: Json, codes: Json) -> None:
        names = {plain(name): name for name in properties}
        fields = []
        for given, (number, type_) in self._messages[definition].items():
            name = names.get(plain(given))
            if name is None:
                embedded = self._resolve(definition, type_)
                self._embedded(embedded, properties, codes)
                fields.append((number, "", f"^{short_name(embedded)}"))
            else:
                fields.append((number, name, self._form(definition, type_, properties[name], codes.get(name, "o"))))
        self.built[short_name(definition)] = " ".join(f"{n}:{name}:{form}" for n, name, form in sorted(fields))

    def _embedded(self, definition: str, properties: Json, codes: Json) -> None:
        """A struct that JSON does not see: its fields are told with those of the structs it is embedded in."""
        if definition not in self._types and short_name(definition) not in self.built:
            own = {plain(name) for name in self._messages[definition]}
            self._build(definition, {n: s for n, s in properties.items() if plain(n) in own}, codes)

    def undescribed(self, definition: str, codes: Json) -> None:
        self._build(definition, {name: {} for name in self._messages[definition]}, codes)

    def _form(self, definition: str, type_: str, schema: Json, code: str) -> str:
        if type_.startswith("repeated "):
            return "[" + self._type(definition, type_.removeprefix("repeated "))
        if type_.startswith("map<string,"):
            value = self._type(definition, type_.removeprefix("map<string,").rstrip(">"))
            is_list = schema.get("additionalProperties", {}).get("type") == "array"
            return "{" + ("@" if is_list else "") + value
        if schema.get("type") == "array":
            return "@" + self._type(definition, type_)
        is_optional = "*" in code.split(" ")[0] or type_ == "bytes"
        return ("?" if is_optional else "") + self._type(definition, type_)

    def _type(self, definition: str, type_: str) -> str:
        if type_ in SCALARS:
            return type_
        resolved = self._resolve(definition, type_)
        if resolved in SPECIAL:
            return SPECIAL[resolved]
        if resolved not in self._types and resolved not in UNDESCRIBED and short_name(resolved) not in self.built:
            self._list(resolved)
        return short_name(resolved)

    def _list(self, definition: str) -> None:
        """A list that has a message to itself."""
        fields = self._messages[definition]
        if list(fields) != ["items"]:
            raise ValueError(f"{definition} is in no facts about types")
        self.built[short_name(definition)] = f"1:items:[{fields['items'][1].removeprefix('repeated ')}"

    def _resolve(self, definition: str, type_: str) -> str:
        name = definition_name(type_.lstrip("."))
        return name if "." in name else f"{definition.rpartition('.')[0]}.{name}"


def main(facts: Path, out: Path) -> None:
    types: Json = json.loads((facts / "types.json").read_text())
    go = json.loads((Path(__file__).parent / "go_fields.json").read_text())
    builder = Builder(json.loads((facts / "protobuf.json").read_text()), types, go["fields"])
    packages = dict(EXTRA_PACKAGES)
    for definition, schema in types.items():
        if definition in SPECIAL:
            continue
        builder.described(definition)
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            if not definition.startswith(META):
                packages[f"{gvk['group']}/{gvk['version']}".lstrip("/")] = short_name(definition).rpartition(".")[0]
    for definition, codes in UNDESCRIBED.items():
        builder.undescribed(definition, codes)
    data = {"packages": packages, "messages": builder.built | OWN}
    text = json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    (out / "protobuf.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
