"""Objects that are valid but for a few places, through create, patches, updates, status, tables and deletion.

The golden cases are where they start from: rules deep inside an object are only reached when the rest is right.
"""

from __future__ import annotations

import copy
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.robustness.fuzz import NUMBERS, SCALARS, WORDS, Attempt
from tests.robustness.fuzz_answers import answer, problem
from tests.server_process import Client, Server

CASES = sorted((Path(__file__).parents[1] / "golden" / "cases").glob("*.json"))
ROUNDS = 400 if os.environ.get("KAPI_LONG") == "1" else 8
NAMESPACE = "golden"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# What would change how the server answers later is only tried.
DRY = ("apiregistration", "admissionregistration", "apiextensions", "v1-resourcequotas", "v1-limitranges")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("mutated"))
    try:
        server.start()
        with server.client() as client:
            client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            client.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        yield server
    finally:
        server.end()


class Mutator:
    """Changes a few places of an object."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def changed(self, value: Any, *, keep: tuple[str, ...] = ("metadata", "apiVersion", "kind")) -> Any:
        made = copy.deepcopy(value)
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            self.change(made, keep)
        return made

    def change(self, value: Any, keep: tuple[str, ...] = ()) -> None:
        """One place, anywhere below."""
        keys = [key for key in value if key not in keep] if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = self.random.choice(keys)
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and self.random.random() < 0.85:
            self.change(inner)
        else:
            self.replace(value, key)

    def replace(self, value: Any, key: Any) -> None:
        inner = value[key]
        how = self.random.random()
        if how < 0.15:
            value[key] = self.anything()
        elif how < 0.3:
            del value[key]
        elif how < 0.4 and isinstance(value, list):
            value.append(copy.deepcopy(inner))
        elif how < 0.45 and isinstance(value, dict):
            value[self.random.choice(SCALARS)] = value.pop(key)
        else:
            value[key] = self.like(inner)

    def like(self, value: Any) -> Any:
        """Another of its type."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return self.random.choice((value + 1, -value, *NUMBERS))
        if isinstance(value, str):
            return self.random.choice((value + "x", value.upper(), value[:1], *WORDS, *SCALARS))
        return type(value)() if value else self.anything()

    def anything(self) -> Any:
        leaf = self.random.choice((None, True, self.random.choice(NUMBERS), self.random.choice(SCALARS), [], {}))
        return self.random.choice((leaf, leaf, [leaf], {self.random.choice(WORDS): leaf}, [[leaf]]))


def attempts(mutator: Mutator, path: Path) -> Iterator[Attempt]:
    """The life of one object, most of it wrong somewhere."""
    golden = json.loads(path.read_text())
    case = mutator.random.choice(list(golden["cases"].values()))
    collection = golden["collection"].replace("NAMESPACE", NAMESPACE)
    name = case["out"]["metadata"]["name"]
    url = f"{collection}/{name}"
    query = "?dryRun=All&" if path.stem.startswith(DRY) else "?"

    def sent(method: str, url: str, body: Any = None, kind: str = "json", accept: str = "application/json") -> Attempt:
        headers = {"accept": accept, "content-type": f"application/{kind}"}
        return Attempt(method, url, headers, None if body is None else json.dumps(body).encode())

    yield sent("POST", collection + query, mutator.changed(case["in"]))
    yield sent("POST", collection + query, case["in"])
    full = mutator.changed(case["out"])
    part = {key: value for key, value in mutator.changed(case["out"]).items() if mutator.random.random() < 0.7}
    yield sent("PUT", url + query, full)
    yield sent("PATCH", url + query, part, "merge-patch+json")
    yield sent("PATCH", url + query, part, "strategic-merge-patch+json")
    applied = mutator.changed(case["in"])
    yield sent("PATCH", f"{url}{query}fieldManager=a&force=true", applied, "apply-patch+yaml")
    yield sent("PATCH", f"{url}{query}fieldManager=b", mutator.changed(case["in"]), "apply-patch+yaml")
    for sub in ("status", "scale"):
        yield sent("PUT", f"{url}/{sub}{query}", mutator.changed(case["out"]))
        yield sent(
            "PATCH", f"{url}/{sub}{query}", {"status": part.get("spec"), "spec": part.get("status")}, "merge-patch+json"
        )
    yield sent("GET", collection, accept=TABLE)
    yield sent("GET", url, accept="application/vnd.kubernetes.protobuf")
    yield sent("PATCH", url, {"metadata": {"finalizers": None}}, "merge-patch+json")
    yield sent("DELETE", f"{url}{query}gracePeriodSeconds=0")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_nearly_valid_object_is_no_server_error(server: Server, path: Path) -> None:
    problems = []
    with server.client() as client:
        for number in range(ROUNDS):
            for attempt in attempts(Mutator(f"{path.stem} {number}"), path):
                wrong = tried(client, attempt)
                if wrong:
                    problems.append(f"{attempt}\n  {wrong}")
        assert not problems, f"{len(problems)}\n" + "\n".join(problems[:5]) + "".join(server.log[-5:])
        assert client.text("/readyz")[1] == "ok"


def tried(client: Client, attempt: Attempt) -> str:
    began = time.monotonic()
    status, body = answer(client, attempt)
    return problem(attempt, status, body, time.monotonic() - began)
