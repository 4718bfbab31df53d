"""The loopback client: the server as its own, most privileged client."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from kapi.api.client import APPLY_PATCH, error_from_status
from kapi.api.errors import AlreadyExists, APIError, Conflict, NotFound, TooManyRequests
from kapi.api.gvk import GroupResource
from kapi.authz.basic import AlwaysDeny, PrivilegedGroup
from kapi.authz.union import Member, Union
from kapi.server.loopback import LoopbackClient
from kapi.server.server import GenericServer
from kapi.wire.messages import Response

PODS = GroupResource("", "pods")


async def echo(call):
    """Tells what was asked, or fails or streams when the name asks for that."""
    name, request = call.info.name, call.request
    if name == "missing":
        raise NotFound(PODS, "missing")
    if name == "there":
        raise AlreadyExists(PODS, "there")
    if call.info.verb == "watch":
        return Response(200, [], stream=events)
    if name == "long":
        return Response(200, [], stream=in_pieces)
    content = await request.body(1 << 20)
    told = {
        "method": request.method,
        "name": name,
        "params": call.params,
        "user": call.user.name,
        "groups": call.user.groups,
        "type": request.headers.get("content-type"),
        "body": orjson.loads(content) if content else None,
    }
    return Response(200, [], orjson.dumps(told))


async def events(output):
    output.write_nowait(b'{"type":"ADDED","object":{"n":1}}\n{"type":"MODI')
    await output.write(b'FIED","object":{"n":2}}\n')


async def in_pieces(output):
    await output.write(b'{"items":')
    await output.write(b"[]}")


@pytest.fixture
def client(new_config):
    config = new_config(authenticator=None, authorizer=Union([Member(PrivilegedGroup()), Member(AlwaysDeny())]))
    server = GenericServer("kube", config)
    server.api_groups["", "v1"] = echo
    server.prepare_run()
    return config.loopback


def test_it_is_the_apiserver_and_may_do_everything(client):
    told = asyncio.run(client.get("/api/v1/namespaces/a/pods/b", limit="5"))
    assert told["user"] == "system:apiserver"
    assert "system:masters" in told["groups"]
    assert told["params"] == {"limit": ["5"]}


def test_each_verb_is_its_method(client):
    path = "/api/v1/namespaces/a/pods/b"

    async def main():
        return [
            await client.create("/api/v1/namespaces/a/pods", {"kind": "Pod"}, dryRun="All"),
            await client.update(path, {"kind": "Pod"}),
            await client.patch(path, [{"op": "test"}], "application/json-patch+json"),
            await client.patch(path, {"a": 1}, APPLY_PATCH, fieldManager="me"),
            await client.delete(path, {"kind": "DeleteOptions"}),
            await client.delete(path),
        ]

    told = asyncio.run(main())
    assert [t["method"] for t in told] == ["POST", "PUT", "PATCH", "PATCH", "DELETE", "DELETE"]
    assert told[2]["body"] == [{"op": "test"}]
    assert [t["type"] for t in told[1:4]] == ["application/json", "application/json-patch+json", APPLY_PATCH]
    assert told[5]["type"] is None


@pytest.mark.parametrize(("name", "kind"), [("missing", NotFound), ("there", AlreadyExists)])
def test_failures_are_raised_as_what_they_are(client, name, kind):
    with pytest.raises(kind, match=f'pods "{name}"') as error:
        asyncio.run(client.get(f"/api/v1/namespaces/a/pods/{name}"))
    assert error.value.details == {"name": name, "kind": "pods"}


def test_what_nobody_serves_is_not_found_too(client):
    with pytest.raises(NotFound, match="404 page not found"):
        asyncio.run(client.get("/apis/none/v1/x"))


def test_a_streamed_answer_is_read_whole(client):
    assert asyncio.run(client.list("/api/v1/namespaces/a/pods/long")) == {"items": []}


def test_a_watch_yields_events_until_it_ends(client):
    async def main():
        return [event async for event in client.watch("/api/v1/pods", resourceVersion="7")]

    assert [(e["type"], e["object"]["n"]) for e in asyncio.run(main())] == [("ADDED", 1), ("MODIFIED", 2)]


def test_a_refused_watch_raises(client):
    async def main():
        async for _ in client.watch("/api/v1/namespaces/a/pods/missing", watch="1"):
            raise AssertionError

    with pytest.raises(NotFound):
        asyncio.run(main())


def test_a_name_is_quoted_in_the_path(client):
    assert asyncio.run(client.get("/api/v1/nodes/a b%c?d"))["name"] == "a b%c?d"


def test_it_cannot_be_used_before_there_is_a_chain():
    with pytest.raises(RuntimeError, match="not bound"):
        asyncio.run(LoopbackClient().get("/api"))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"reason": "Conflict", "code": 409, "message": "stale"}, Conflict),
        ({"reason": "TooManyRequests", "code": 429, "details": {"retryAfterSeconds": 3}}, TooManyRequests),
        ({"reason": "Teapot", "code": 418, "message": "short and stout"}, APIError),
    ],
)
def test_a_status_becomes_the_error_it_tells_of(status, kind):
    error = error_from_status(status)
    assert type(error) is kind
    assert error.code == status["code"]
    assert error.message == status.get("message", "")
    assert error.retry_after == status.get("details", {}).get("retryAfterSeconds")
