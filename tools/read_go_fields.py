"""Reads facts about JSON fields out of the Go sources of Kubernetes' API types.

OpenAPI does not say how a field is written when it is empty, nor what Go calls its type, yet clients see both: the
first in every answer, the second in the message for a value of the wrong type. This reads them from the struct tags:

    python tools/read_go_fields.py FACTS_DIR SOURCES_DIR > tools/go_fields.json

SOURCES_DIR holds checkouts of k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator, under those names.
Per definition and field the output has a code: `*` pointer, `o` omitempty, `z` omitzero; then, where OpenAPI does not
tell, the Go type; then `@` and the names of the structs that the field is embedded through. `o` alone is left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

STRUCT = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.M | re.S)
ALIAS = re.compile(r"^type (\w+) (\[\]\w+|map\[\w+\][\w.*\[\]]+|string|int32|int64|bool)\b", re.M)
FIELD = re.compile(r'^\s+(?:([\w, ]+?)\s+)?([*\[\]\w.]+)\s+`[^`]*?json:"([^"]*)"', re.M)
IMPORT = re.compile(r'^\s+(\w+)?\s*"(k8s\.io/[\w./-]+)"', re.M)
KNOWN = re.compile(r"AddKnownTypes\(\s*(\w*\.?SchemeGroupVersion),(.*?)\n\t\)", re.S)
GROUP = re.compile(r'GroupName\s*=\s*"([^"]*)"')

ROOTS = {
    "api": "io.k8s.api",
    "apimachinery": "io.k8s.apimachinery",
    "apiextensions-apiserver": "io.k8s.apiextensions-apiserver",
    "kube-aggregator": "io.k8s.kube-aggregator",
}


class Package:
    """The types of one Go package."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.imports = {m[1] or m[2].rsplit("/", 1)[1]: m[2].rsplit("/", 1)[1] for m in IMPORT.finditer(text)}
        self.structs = {m[1]: [f.groups() for f in FIELD.finditer(m[2])] for m in STRUCT.finditer(text)}
        self.named = {m[1] for m in ALIAS.finditer(text)} | set(self.structs)

    def qualify(self, go_type: str) -> str:
        """A type as reflection prints it: qualified by the package's name."""

        def one(match: re.Match[str]) -> str:
            word = match[0]
            if "." in word:
                package, _, name = word.partition(".")
                return f"{self.imports.get(package, package)}.{name}"
            return f"{self.name}.{word}" if word in self.named else word

        return re.sub(r"[\w.]+", one, go_type)

    def fields(self, struct: str, via: tuple[str, ...] = ()) -> dict[str, tuple[str, str, tuple[str, ...]]]:
        found: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        for _, go_type, tag in self.structs[struct]:
            name, *options = tag.split(",")
            if name == "-":
                continue
            if not name:
                embedded = go_type.lstrip("*").rsplit(".", 1)[-1]
                if embedded in self.structs:
                    found.update(self.fields(embedded, (*via, embedded)))
                continue
            flags = "*" * go_type.startswith("*") + "o" * ("omitempty" in options) + "z" * ("omitzero" in options)
            found[name] = (flags, self.qualify(go_type.lstrip("*")), via)
        return found


def derived(schema: dict[str, object]) -> str:
    """The Go type that the schema alone suggests."""
    if ref := schema.get("$ref"):
        package, _, name = str(ref).rpartition(".")
        return f"{package.rsplit('.', 1)[1]}.{name}"
    kind = schema.get("type")
    if kind == "array":
        items = schema["items"]
        return "[]" + derived(items)  # type: ignore[arg-type]
    if kind == "object" and isinstance(values := schema.get("additionalProperties"), dict):
        return "map[string]" + derived(values)
    if schema.get("format") == "byte":
        return "[]uint8"
    return {"string": "string", "boolean": "bool", "number": "float64"}.get(str(kind), str(schema.get("format", "")))


def main(facts: Path, sources: Path) -> None:
    types = json.loads((facts / "types.json").read_text())
    packages: dict[str, Package] = {}
    kinds: dict[str, list[str]] = {}
    for checkout, root in ROOTS.items():
        for directory in sorted({p.parent for p in (sources / checkout).rglob("*.go")}):
            texts = [
                p.read_text() for p in sorted(directory.glob("*.go")) if not p.name.startswith(("zz_", "generated"))
            ]
            text = "\n".join(t for t in texts if "package main" not in t)
            dotted = ".".join((root, *directory.relative_to(sources / checkout).parts))
            packages[dotted] = Package(directory.name, text)
            group = GROUP.search(text)
            if group and re.fullmatch(r"v\d\w*", directory.name):
                version = f"{group[1]}/{directory.name}".lstrip("/")
                known = {k for m in KNOWN.finditer(text) for k in re.findall(r"&(\w+)\{\}", m[2])}
                if known:
                    kinds[version] = sorted(known)
    fields: dict[str, dict[str, dict[str, str]]] = {}
    for definition, schema in types.items():
        package, _, struct = definition.rpartition(".")
        if struct not in packages[package].structs or "properties" not in schema:
            continue
        go = packages[package].fields(struct)
        codes: dict[str, str] = {}
        for name, property_ in schema["properties"].items():
            if name in ("apiVersion", "kind") and name not in go:
                continue
            if name not in go:
                print(f"{definition}.{name}: not in the sources", file=sys.stderr)
                continue
            flags, go_type, via = go[name]
            parts = [flags, *([go_type] if go_type.replace("[]byte", "[]uint8") != derived(property_) else [])]
            parts += ["@" + ".".join(via)] if via else []
            code = " ".join(parts)
            if code != "o":
                codes[name] = code
        if codes:
            fields.setdefault(package, {})[struct] = codes
    json.dump({"fields": fields, "kinds": kinds}, sys.stdout, indent=0, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
