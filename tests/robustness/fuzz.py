"""Random requests from OpenAPI documents: bodies nearly right, patches, queries and names, each from one seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

WORDS = (
    "a",
    "web",
    "default",
    "kube-system",
    "http",
    "TCP",
    "Always",
    "x.example.org",
    "v1",
    "apps",
    "*",
    "Pod",
    "None",
)
SCALARS = (
    *(
        "",
        " ",
        "-",
        "A_b",
        "a/b",
        "a/b/c",
        "é☃",
        "\u0000",
        "\U0001f600",
        "x" * 300,
        "true",
        "null",
        "{}",
        "$(A)",
        "%25",
        "..",
    ),
    *("1", "-1", "0", "100m", "1Ki", "1e3", "1e99999", "0.0000000001", "+5", "Ki", "50%", "101%", "9" * 40, "9" * 5000),
    *("1h", "10s", "-5m", "5", "1h30", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456Z", "2024-13-99T99:99:99Z"),
    *(
        "10.0.0.1",
        "10.0.0.0/8",
        "::1",
        "fd00::/64",
        "999.1.1.1",
        "10.0.0.0/99",
        "YQ==",
        "YQ=",
        "a=b",
        "a in (b,c)",
        "!a",
    ),
    *("@hourly", "* * * * *", "61 * * * *", "TZ=UTC * * * * *", "Europe/Vienna", "self.x", "object.spec == 1", "1 +"),
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    80,
    443,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    1.5,
    1e300,
)
QUERIES = {
    "labelSelector": (
        "a=b",
        "a in (b)",
        "!a",
        "a in (",
        "=",
        "a=b=c",
        "x" * 70 + "=y",
        "a notin (b,,c)",
        "a>1",
        "a>" + "9" * 5000,
        ",",
    ),
    "fieldSelector": (
        "metadata.name=a",
        "metadata.name!=a",
        "spec.nodeName=",
        "nope=1",
        "a",
        "=",
        "metadata.name=a\\,b",
    ),
    "resourceVersion": ("0", "1", "999999999", "-1", "x", "", "1.5", "9" * 5000),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "Nope", ""),
    "limit": ("1", "0", "-1", "x", "9" * 5000, "2"),
    "continue": ("x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "e30", "", "%00"),
    "timeoutSeconds": ("1", "-1", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "allowWatchBookmarks": ("true", "1", "x"),
    "dryRun": ("All", "None", "all", ""),
    "fieldManager": ("fuzz", "", "x" * 200, "\u0001", "a/b"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "strict"),
    "force": ("true", "false", "x"),
    "gracePeriodSeconds": ("0", "-1", "x", "9" * 5000, "30"),
    "propagationPolicy": ("Foreground", "Background", "Orphan", "Nope"),
    "orphanDependents": ("true", "x"),
    "pretty": ("true", "x"),
}
ACCEPTS = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "application/nope, */*;q=0.1",
    "application/nope",
)
PATCHES = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
DEPTH = 9


@dataclass(frozen=True)
class Operation:
    """One of a document's: what to send where, and the schema of its body."""

    method: str
    path: str
    queries: tuple[str, ...]
    schema: Mapping[str, Any] | None
    schemas: Mapping[str, Any]
    gvk: Mapping[str, str]
    watches: bool


@dataclass(frozen=True)
class Attempt:
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None

    def __str__(self) -> str:
        return f"{self.method} {self.url} {self.headers} {(self.body or b'')[:2000]!r}"


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    schemas = document.get("components", {}).get("schemas", {})
    for path, item in document["paths"].items():
        shared = item.get("parameters", [])
        for method, operation in item.items():
            if method == "parameters":
                continue
            content = operation.get("requestBody", {}).get("content", {})
            parameters = [*shared, *operation.get("parameters", [])]
            yield Operation(
                method=method.upper(),
                path=path,
                queries=tuple(parameter["name"] for parameter in parameters if parameter["in"] == "query"),
                schema=next((media["schema"] for media in content.values()), None),
                schemas=schemas,
                gvk=operation.get("x-kubernetes-group-version-kind", {}),
                watches="/watch/" in path or "watch" in operation.get("x-kubernetes-action", ""),
            )


class Fuzzer:
    """Requests for operations. `names` are given to path parameters and objects more often than nonsense is."""

    def __init__(self, seed: str, names: Mapping[str, tuple[str, ...]], keep: Callable[[Operation], bool]) -> None:
        self.random = random.Random(seed)
        self.names = names
        self.keep = keep  # whether a write may stay: others are dry runs

    def attempt(self, operation: Operation) -> Attempt:
        headers = {"accept": self.random.choice(ACCEPTS) if self.chance(0.3) else "application/json"}
        body = None
        if operation.method == "PATCH":
            kind = self.random.choice(PATCHES)
            headers["content-type"] = f"application/{kind}"
            body = self.encoded(self.patch(kind, operation))
        elif operation.schema is not None and not (operation.method == "DELETE" and self.chance(0.5)):
            headers["content-type"] = "application/yaml" if self.chance(0.1) else "application/json"
            body = self.encoded(self.object(operation))
        return Attempt(operation.method, self.url(operation), headers, body)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def url(self, operation: Operation) -> str:
        parts = []
        for part in operation.path.split("/"):
            if part.startswith("{"):
                known = self.names.get(part.strip("{}"), ("a",))
                part = self.random.choice(known) if self.chance(0.9) else self.random.choice(SCALARS) or "-"
                part = quote(part.replace("\u0000", "%00"), safe="")
            parts.append(part)
        queries = {name: self.query(name) for name in operation.queries if name != "watch" and self.chance(0.2)}
        if not self.keep(operation) and operation.method != "GET":
            queries["dryRun"] = "All"
        if operation.method == "PATCH":
            queries.setdefault("fieldManager", "fuzz")
        encoded = "&".join(f"{name}={quote(value, safe='')}" for name, value in queries.items())
        return "/".join(parts) + (f"?{encoded}" if encoded else "")

    def query(self, name: str) -> str:
        return self.random.choice(QUERIES.get(name, SCALARS))

    def object(self, operation: Operation) -> Any:
        made = self.value(operation.schema or {}, operation.schemas, DEPTH)
        if not isinstance(made, dict):
            return made
        if self.chance(0.9) and operation.gvk and not operation.path.endswith("/scale"):
            group, version = operation.gvk.get("group", ""), operation.gvk.get("version", "")
            made["apiVersion"] = f"{group}/{version}" if group else version
            made["kind"] = operation.gvk["kind"]
        if operation.method == "DELETE":
            made["apiVersion"], made["kind"] = "v1", "DeleteOptions"
        elif self.chance(0.9):
            metadata = {"name": self.random.choice(self.names["name"])}
            if self.chance(0.3):
                described = self.value(operation.schemas.get(META, {}), operation.schemas, DEPTH)
                metadata = (described if isinstance(described, dict) else {}) | metadata
                metadata.pop("finalizers", None)
            made["metadata"] = metadata
        return made

    def value(self, schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> Any:
        """What the schema describes, more or less."""
        if self.chance(0.015):
            return self.anything(2)
        while "$ref" in schema or schema.get("allOf"):
            name = schema.get("$ref") or schema["allOf"][0].get("$ref")
            if name is None:
                break
            schema = schemas[name.rpartition("/")[2]]
        if "enum" in schema and self.chance(0.9):
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.mapping(schema, schemas, depth)
        if kind == "array":
            count = self.random.choice((0, 1, 1, 2, 3)) if depth > 0 else 0
            return [self.value(schema.get("items", {}), schemas, depth - 1) for _ in range(count)]
        return self.scalar(kind)

    def mapping(self, schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth <= 0:
            return {}
        required = set(schema.get("required", ()))
        share = self.random.choice((0.1, 0.3, 0.6)) if depth > DEPTH - 3 else 0.15
        made = {
            name: self.value(inner, schemas, depth - 1)
            for name, inner in schema.get("properties", {}).items()
            if (name in required and self.chance(0.95)) or self.chance(share)
        }
        if "additionalProperties" in schema:
            inner = schema["additionalProperties"]
            inner = inner if isinstance(inner, dict) else {}
            for _ in range(self.random.choice((0, 1, 2))):
                made[str(self.scalar("string"))] = self.value(inner, schemas, depth - 1)
        if self.chance(0.02):
            made[str(self.scalar("string"))] = self.anything(1)
        return made

    def scalar(self, kind: str | None) -> Any:
        if kind == "boolean":
            return self.chance(0.5)
        if kind in ("integer", "number"):
            return self.random.choice(NUMBERS[:8]) if self.chance(0.8) else self.random.choice(NUMBERS)
        if kind == "string":
            return self.random.choice(WORDS) if self.chance(0.6) else self.random.choice(SCALARS)
        return self.anything(1)

    def anything(self, depth: int) -> Any:
        leaf = self.random.choice((None, True, self.random.choice(NUMBERS), self.random.choice(SCALARS), [], {}))
        if depth <= 0 or self.chance(0.5):
            return leaf
        inner = self.anything(depth - 1)
        return [inner, leaf] if self.chance(0.5) else {self.random.choice(SCALARS): inner}

    def patch(self, kind: str, operation: Operation) -> Any:
        described = self.described(operation)
        if self.chance(0.03):
            return self.anything(2)
        if kind == "json-patch+json":
            return [self.json_operation(described) for _ in range(self.random.choice((0, 1, 2, 5)))]
        if kind == "strategic-merge-patch+json":
            return self.directed(described, DEPTH)
        if kind == "merge-patch+json" and isinstance(described, dict):
            return {name: None if self.chance(0.1) else inner for name, inner in described.items()}
        return described

    def described(self, operation: Operation) -> Any:
        """The object that an operation reads or writes: the OpenAPI document gives patches no schema of their own."""
        for schema in operation.schemas.values():
            if dict(operation.gvk) in schema.get("x-kubernetes-group-version-kind", ()):
                found = Operation(**{name: getattr(operation, name) for name in FIELDS} | {"schema": schema})
                return self.object(found)
        return self.anything(2)

    def json_operation(self, described: Any) -> Any:
        path, value = "", described
        while isinstance(value, (dict, list)) and value and self.chance(0.8):
            key = self.random.choice(list(value)) if isinstance(value, dict) else self.random.randrange(len(value))
            path += "/" + str(key).replace("~", "~0").replace("/", "~1")
            value = value[key]
        if self.chance(0.2):
            path += self.random.choice(("/-", "/0", "/-1", "/99", "/x", "/~2", "//", "/01", "/1e0"))
        op = self.random.choice(("add", "replace", "remove", "test", "move", "copy", "nope"))
        made = {
            "op": op,
            "path": path,
            "value": value,
            "from": self.random.choice((path, "/metadata", "/spec", "", "x")),
        }
        return {name: made[name] for name in made if not self.chance(0.05)}

    def directed(self, value: Any, depth: int) -> Any:
        """With directives of strategic merge here and there."""
        if isinstance(value, list):
            items = [self.directed(item, depth - 1) for item in value]
            return [*items, {"$patch": self.random.choice(DIRECTIVES)}] if self.chance(0.1) else items
        if not isinstance(value, dict) or depth <= 0:
            return value
        made = {name: self.directed(inner, depth - 1) for name, inner in value.items()}
        for name in list(made):
            if self.chance(0.05):
                made[f"$setElementOrder/{name}"] = self.random.choice(
                    ([], [{"name": "a"}], ["a"], {}, None, made[name])
                )
            if self.chance(0.03):
                made[f"$deleteFromPrimitiveList/{name}"] = self.random.choice((["a"], [], None, [1], "a"))
        if self.chance(0.05):
            made["$patch"] = self.random.choice(DIRECTIVES)
        if self.chance(0.05):
            made["$retainKeys"] = self.random.choice((list(made), [], ["a"], None, [1], {}))
        return made

    def encoded(self, value: Any) -> bytes:
        data = json.dumps(value).encode()
        if self.chance(0.05) and data:
            place = self.random.randrange(len(data))
            cut = self.random.choice(
                (data[:place], data[:place] + b"\xff" + data[place:], data + b"{}", data + b"\x00", b"")
            )
            return cut
        return data


META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
DIRECTIVES = ("replace", "delete", "merge", "nope", None, 1)
FIELDS = tuple(Operation.__dataclass_fields__)
