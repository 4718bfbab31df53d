"""Lists by selector, over HTTP: each page is what brute force finds among all objects."""

from __future__ import annotations

import itertools
from typing import Any
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server_process import Client, Server

NAMESPACE = "selection"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
TERMS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["=", "!=", " in ", " notin ", "", "!"]), st.sampled_from("xyz")),
    min_size=1,
    max_size=3,
)


def fill(client: Client) -> list[dict[str, str]]:
    """An object for every combination of labels; the labels, by number."""
    values = (None, "x", "y")
    combinations = [dict(zip("abc", chosen, strict=True)) for chosen in itertools.product(values, repeat=3)]
    labels = [{key: value for key, value in chosen.items() if value} for chosen in combinations]
    client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for number, given_ in enumerate(labels):
        client.create(COLLECTION, {"metadata": {"name": f"c{number:02}", "labels": given_}})
    return labels


def text(term: tuple[str, str, str]) -> str:
    key, operator, value = term
    return {
        "": key,
        "!": f"!{key}",
        "=": f"{key}={value}",
        "!=": f"{key}!={value}",
    }.get(operator, f"{key}{operator}({value},y)")


def holds(term: tuple[str, str, str], labels: dict[str, str]) -> bool:
    key, operator, value = term
    found = labels.get(key)
    return {
        "": found is not None,
        "!": found is None,
        "=": found == value,
        "!=": found != value,
        " in ": found in (value, "y"),
        " notin ": found not in (value, "y"),
    }[operator]


def paged(client: Client, query: str, limit: int) -> list[Any]:
    found: list[Any] = []
    after = ""
    while True:
        page = client.get(f"{COLLECTION}?{query}&limit={limit}&continue={quote(after)}")
        assert len(page["items"]) <= limit
        found += page["items"]
        after = page["metadata"].get("continue", "")
        if not after:
            return found


def test_a_list_by_selector_is_what_brute_force_finds(shared_server: Server) -> None:
    with shared_server.client() as client:
        labels = fill(client)

        @settings(max_examples=60, deadline=None)
        @given(TERMS, st.integers(1, 30), st.sampled_from(["", "c03", "c26", "nothing"]), st.booleans())
        def lists(terms: list[tuple[str, str, str]], limit: int, name: str, equal: bool) -> None:
            query = "labelSelector=" + quote(",".join(map(text, terms)))
            if name:
                query += "&fieldSelector=" + quote(f"metadata.name{'=' if equal else '!='}{name}")
            wanted = [
                f"c{number:02}"
                for number, given_ in enumerate(labels)
                if all(holds(term, given_) for term in terms) and (not name or (f"c{number:02}" == name) == equal)
            ]
            assert [item["metadata"]["name"] for item in client.get(f"{COLLECTION}?{query}")["items"]] == wanted
            assert [item["metadata"]["name"] for item in paged(client, query, limit)] == wanted

        lists()
