"""What validation rules cost: microseconds for each evaluation of rules as definitions have them, compiled once."""

from __future__ import annotations

import time
from typing import Any

from kapi.cel.custom_resources import evaluator

ROUNDS = 2_000
TEXT = {"type": "string", "maxLength": 64}
NUMBER = {"type": "integer"}
PORT = {"type": "object", "properties": {"name": TEXT, "port": NUMBER}}
SPEC: dict[str, Any] = {
    "minReplicas": NUMBER,
    "maxReplicas": NUMBER,
    "name": TEXT,
    "kind": TEXT,
    "renewBefore": TEXT,
    "duration": TEXT,
    "ports": {"type": "array", "maxItems": 16, "items": PORT},
    "labels": {"type": "object", "additionalProperties": TEXT},
    "redirect": {"type": "object", "properties": {"path": TEXT}},
}
VALUE = {
    "minReplicas": 1,
    "maxReplicas": 5,
    "name": "web-server",
    "kind": "Service",
    "renewBefore": "1h",
    "duration": "24h",
    "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
    "labels": {"app": "web"},
}
RULES = (
    "self.minReplicas <= self.maxReplicas",
    "self.name == oldSelf.name",
    "has(self.redirect) != has(self.ports)",
    "self.kind in ['Service', 'Gateway'] || self.kind.startsWith('X')",
    "!has(self.redirect) || self.redirect.path.startsWith('/')",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "duration(self.renewBefore) < duration(self.duration)",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "self.ports.all(a, self.ports.exists_one(b, a.name == b.name))",
    "'app' in self.labels && self.labels['app'].size() <= 63",
)


def main() -> None:
    for rule in RULES:
        schema = {"type": "object", "properties": SPEC, "x-kubernetes-validations": [{"rule": rule}]}
        judge = evaluator({"type": "object", "properties": {"spec": schema}})
        new, old = {"spec": VALUE}, {"spec": dict(VALUE)}
        if found := judge(new, old):
            raise SystemExit(f"{rule}: {found[0]}")
        best = min(_seconds(judge, new, old) for _ in range(5))
        print(f"{best / ROUNDS * 1e6:7.2f} µs  {rule}")


def _seconds(judge: Any, new: Any, old: Any) -> float:
    began = time.perf_counter()
    for _ in range(ROUNDS):
        judge(new, old)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
