"""Tokens in Secrets that nobody uses are marked after a year and deleted after another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kapi.api.client import MERGE_PATCH, error_from_status
from kapi.controllers.legacy_tokens import clean_up
from tests.controllers.world import Object, World

NOW = datetime.now(UTC)
YEAR = timedelta(days=370)
TOKEN = "kubernetes.io/service-account-token"
TRACKING = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking"
INVALID_SINCE, LAST_USED = "kubernetes.io/legacy-token-invalid-since", "kubernetes.io/legacy-token-last-used"


class OverHTTP:
    """The client that controllers have, over the connection of a test."""

    def __init__(self, world: World) -> None:
        self._client = world.client

    async def get(self, path: str, **params: str) -> Object:
        return self._call("GET", path, params)

    async def list(self, path: str, **params: str) -> Object:
        return self._call("GET", path, params)

    async def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH, **params: str) -> Object:
        return self._call("PATCH", path, params, patch, content_type=content_type)

    async def delete(self, path: str, options: Object | None = None, **params: str) -> Object:
        return self._call("DELETE", path, params, options)

    def _call(self, method: str, path: str, params: Object, body: Any = None, **headers: str) -> Object:
        query = "&".join(f"{name}={value}" for name, value in params.items())
        status, answer = self._client.call(method, f"{path}?{query}", body, **headers)
        if status >= 400:
            raise error_from_status(answer)
        found: Object = answer
        return found


@pytest.fixture
def account(world: World) -> Object:
    """With a token that it lists: one that was made for it and not asked for."""
    world.until(TRACKING, lambda found: found is not None)
    world.create("serviceaccounts", {"metadata": {"name": "old"}})
    create_token(world, "listed")
    return world.patch("serviceaccounts/old", {"secrets": [{"name": "listed"}]})


def create_token(world: World, name: str) -> None:
    annotations = {"kubernetes.io/service-account.name": "old"}
    world.create("secrets", {"metadata": {"name": name, "annotations": annotations}, "type": TOKEN})


def clean(world: World, now: datetime) -> None:
    client: Any = OverHTTP(world)
    asyncio.run(clean_up(client, now))


def labels(world: World, name: str) -> Object:
    found: Object = world.get(f"secrets/{name}")["metadata"].get("labels", {})
    return found


def test_an_unused_token_is_marked_then_deleted(world: World, account: Object) -> None:
    create_token(world, "wanted")  # its account does not list it: somebody asked for it
    clean(world, NOW + YEAR)
    assert labels(world, "listed")[INVALID_SINCE] == f"{NOW + YEAR:%Y-%m-%d}"
    clean(world, NOW + YEAR + timedelta(days=100))
    assert world.exists("secrets/listed")
    clean(world, NOW + 2 * YEAR)
    assert not world.exists("secrets/listed")
    assert labels(world, "wanted") == {}


def test_a_token_is_left_alone_before_its_use_was_tracked_for_a_year(world: World, account: Object) -> None:
    clean(world, NOW + timedelta(days=300))
    assert labels(world, "listed") == {}


def test_a_token_that_was_used_lately_is_left_alone(world: World, account: Object) -> None:
    world.patch("secrets/listed", {"metadata": {"labels": {LAST_USED: f"{NOW + timedelta(days=200):%Y-%m-%d}"}}})
    clean(world, NOW + YEAR)
    assert INVALID_SINCE not in labels(world, "listed")


def test_a_token_that_a_pod_mounts_is_left_alone(world: World, account: Object) -> None:
    volumes = [{"name": "v", "secret": {"secretName": "listed"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    world.create("pods", {"metadata": {"name": "p"}, "spec": spec})
    clean(world, NOW + YEAR)
    assert labels(world, "listed") == {}
