"""Builds the order in which Go writes the fields of every type, from objects of every kind with all fields set.

    python tools/build_field_order.py FACTS_DIR OBJECTS_DIR src/kapi/schema/data

Fields of a type that no object shows come last, by name. Types that no object shows at all are ordered by the numbers
of their fields, which were given in the order of Go's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class Orders:
    def __init__(self, types: Json) -> None:
        self._types = types
        self.seen: dict[str, list[str]] = {}

    def read(self, schema: Json, value: Any) -> None:
        if "$ref" in schema:
            self._object(schema["$ref"], value)
        elif schema.get("type") == "array" and isinstance(value, list):
            for item in value:
                self.read(schema["items"], item)
        elif isinstance(schema.get("additionalProperties"), dict) and isinstance(value, dict):
            for item in value.values():
                self.read(schema["additionalProperties"], item)

    def _object(self, name: str, value: Any) -> None:
        properties = self._types.get(name, {}).get("properties")
        if not properties or not isinstance(value, dict):
            return
        shown = [key for key in value if key in properties]
        if len(shown) > len(self.seen.get(name, ())):
            self.seen[name] = shown
        for key in shown:
            self.read(properties[key], value[key])


def numbered(types: Json, messages: Json, shown: dict[str, list[str]]) -> dict[str, list[str]]:
    """The fields of the other types in the order of their numbers, after what every object starts with."""
    orders = {}
    for name, schema in types.items():
        numbers = messages.get(name.replace("io.k8s.", "k8s.io.", 1).replace("-", "_"))
        fields = schema.get("properties")
        if fields and numbers is not None and name not in shown and not name.endswith("List"):
            heads = [key for key in ("kind", "apiVersion") if key in fields and key not in numbers]
            orders[name] = heads + sorted(numbers.keys() & fields.keys(), key=lambda field: numbers[field][0])
    return orders


def main(facts: Path, objects: Path, out: Path) -> None:
    types: Json = json.loads((facts / "types.json").read_text())
    orders = Orders(types)
    by_kind = {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in types.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }
    for file in sorted(objects.glob("*.json")):
        value = json.loads(file.read_text())
        group, _, version = value.get("apiVersion", "").rpartition("/")
        name = by_kind.get((group, version, value.get("kind")))
        if name is not None:
            orders.read({"$ref": name}, value)
    messages: Json = json.loads((facts / "protobuf.json").read_text())
    orders.seen |= numbered(types, messages, orders.seen)
    complete = {
        name: [*shown, *sorted(types[name]["properties"].keys() - set(shown))] for name, shown in orders.seen.items()
    }
    text = json.dumps(complete, separators=(",", ":"), sort_keys=True)
    (out / "field_order.json").write_text(text + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
