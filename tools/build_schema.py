"""Builds the schema data that the package ships, from facts about a running server and about Go's struct tags.

    python tools/build_schema.py FACTS_DIR OBJECTS_DIR src/kapi/schema/data

`resources.json` has every served resource and the package of types of each group-version; `kinds.json` every kind that
is registered, served or not. One further file per package has its types: the OpenAPI facts under `types`, Go's codes
(see read_go_fields.py) under `go`. `protobuf.json` has the messages of all types (see build_protobuf.py) and
`field_order.json` the order in which Go writes their fields (see build_field_order.py).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import build_field_order
import build_protobuf

Json = dict[str, Any]


def write(path: Path, data: Json) -> None:
    path.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n")


def resource_row(resource: Json, columns: dict[str, list[Json]]) -> Json:
    key = f"{resource['group']}/{resource['version']}/{resource['resource']}"
    row: Json = {
        "group": resource["group"],
        "version": resource["version"],
        "plural": resource["resource"],
        "singular": resource["singular"],
        "kind": resource["kind"],
        "namespaced": resource["namespaced"],
        "verbs": resource["verbs"],
    }
    for ours, theirs in (("short_names", "shortNames"), ("categories", "categories"), ("subresources", "subresources")):
        if resource.get(theirs):
            row[ours] = resource[theirs]
    if key in columns:
        row["columns"] = [[c["name"], c["type"], c["format"], c["priority"]] for c in columns[key]]
    return row


def packages_of(types: Json) -> dict[str, str]:
    """Which package of types serves a group-version; the kinds of meta/v1, which every group-version has, aside."""
    found: dict[str, str] = {}
    for definition, schema in types.items():
        package = definition.rpartition(".")[0]
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            if ".meta.v1" not in package:
                found[f"{gvk['group']}/{gvk['version']}".lstrip("/")] = package
    return found


def main(facts: Path, objects: Path, out: Path) -> None:
    types: Json = json.loads((facts / "types.json").read_text())
    resources = json.loads((facts / "resources.json").read_text())
    columns = json.loads((facts / "table-columns.json").read_text())
    go = json.loads((Path(__file__).parent / "go_fields.json").read_text())
    out.mkdir(parents=True, exist_ok=True)
    for stale in out.glob("*.json"):
        stale.unlink()
    write(
        out / "resources.json",
        {"resources": [resource_row(r, columns) for r in resources], "packages": packages_of(types)},
    )
    write(out / "kinds.json", go["kinds"])
    packages: dict[str, Json] = {}
    for definition, schema in types.items():
        package, _, name = definition.rpartition(".")
        packages.setdefault(package, {"types": {}, "go": go["fields"].get(package, {})})["types"][name] = schema
    for package, data in packages.items():
        write(out / f"{package}.json", data)
    build_protobuf.main(facts, out)
    build_field_order.main(facts, objects, out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
