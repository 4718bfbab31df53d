"""Which server of a chain answers, what `/` lists, and the routes every server has."""

from __future__ import annotations

import orjson
import pytest

from kapi.api.errors import Conflict
from kapi.api.gvk import GroupResource
from kapi.server.routes import Routes, unknown_resource
from kapi.server.server import GenericServer
from kapi.wire.messages import BodyTooLarge, Response


def says(text):
    async def handle(call):
        return Response(200, [], text.encode())

    return handle


@pytest.fixture
def chain(new_config):
    config = new_config()
    extensions = GenericServer("extensions", config)
    kube = GenericServer("kube", config, extensions)
    aggregator = GenericServer("aggregator", config, kube)
    extensions.api_groups["apiextensions.k8s.io", "v1"] = says("extensions")
    kube.api_groups["", "v1"] = says("core")
    kube.api_groups["apps", "v1"] = says("apps")
    kube.routes.add_prefix("/api/", unknown_resource, listed=False)
    aggregator.api_groups["apiregistration.k8s.io", "v1"] = says("aggregator")
    aggregator.routes.exact["/apis"] = says("groups")
    return aggregator


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/api/v1/pods", b"core"),
        ("/api/v1", b"core"),
        ("/api/v1/namespaces/x/things/y", b"core"),
        ("/apis/apps/v1/deployments", b"apps"),
        ("/apis/apps/v1", b"apps"),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", b"extensions"),
        ("/apis/apiregistration.k8s.io/v1/apiservices/x", b"aggregator"),
        ("/apis", b"groups"),
    ],
)
def test_the_first_server_that_serves_the_path_answers(chain, ask, target, body):
    response = ask(chain, target)
    assert (response.status, response.body) == (200, body)


@pytest.mark.parametrize(
    "target", ["/nope", "/apis/nope/v1/things", "/apis//v1/pods", "//api", "/healthz/", "/healthz/nope", "/%2e%2e/api"]
)
def test_what_nobody_serves_is_a_plain_404(chain, ask, target):
    response = ask(chain, target)
    headers = dict(response.headers)
    assert (response.status, response.body) == (404, b"404 page not found\n")
    assert headers[b"content-type"] == b"text/plain; charset=utf-8"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-cache, private"


@pytest.mark.parametrize("target", ["/version/x", "/api//v1", "/api/v2/pods"])
def test_what_a_server_claims_but_does_not_have_is_a_status(chain, ask, target):
    response = ask(chain, target)
    assert response.status == 404
    assert orjson.loads(response.body)["message"] == "the server could not find the requested resource"


def test_the_index_lists_the_paths_of_the_whole_chain_sorted(chain, ask):
    paths = orjson.loads(ask(chain, "/").body)["paths"]
    assert paths == sorted(paths)
    assert {"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/apiextensions.k8s.io/v1"} <= set(paths)
    assert {"/healthz", "/healthz/ping", "/livez/log", "/readyz/shutdown", "/metrics", "/version"} <= set(paths)
    assert not {"/", "/index.html", "/version/", "/api/", "/livez/shutdown"} & set(paths)
    assert orjson.loads(ask(chain, "/index.html", "POST").body)["paths"] == paths


def test_the_version_is_that_of_the_api(chain, ask):
    for target in ("/version", "/version/", "/version?pretty=true"):
        version = orjson.loads(ask(chain, target).body)
        assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "37", "v1.37.0")
        assert (version["emulationMinor"], version["minCompatibilityMinor"]) == ("37", "36")
    assert ask(chain, "/version", "POST").status == 405


def test_metrics_count_the_requests_before_them(chain, ask):
    ask(chain, "/api/v1/namespaces/a/pods")
    response = ask(chain, "/metrics")
    assert dict(response.headers)[b"content-type"].startswith(b"text/plain; version=0.0.4")
    wanted = (
        'apiserver_request_total{verb="LIST",dry_run="",group="",version="v1",resource="pods",subresource="",'
        'scope="namespace",component="apiserver",code="200"} 1'
    )
    assert wanted in response.body.decode().splitlines()
    assert ask(chain, "/metrics/nope").status == 404


def test_errors_raised_below_become_statuses(new_config, ask):
    server = GenericServer("kube", new_config())

    async def conflict(call):
        raise Conflict(GroupResource("apps", "deployments"), "web", "stale")

    async def too_large(call):
        raise BodyTooLarge

    server.api_groups["apps", "v1"] = conflict
    server.api_groups["", "v1"] = too_large
    response = ask(server, "/apis/apps/v1/namespaces/a/deployments/web", "PUT")
    assert response.status == 409
    assert orjson.loads(response.body)["message"] == ('Operation cannot be fulfilled on deployments.apps "web": stale')
    response = ask(server, "/api/v1/namespaces/a/pods", "POST")
    assert response.status == 413
    assert orjson.loads(response.body)["message"] == "Request entity too large: limit is 3145728"


def test_of_prefixes_the_longest_counts_and_can_be_taken_away():
    routes = Routes()
    short, long, exact = says("short"), says("long"), says("exact")
    routes.add_prefix("/a/", short)
    routes.add_prefix("/a/b/", long)
    routes.exact["/a/b/c"] = exact
    assert [routes.find(p) for p in ("/a/x", "/a/b/x", "/a/b/c", "/a", "/b")] == [short, long, exact, None, None]
    routes.remove_prefix("/a/b/")
    assert routes.find("/a/b/x") is short
    assert routes.listed_paths() == {"/a/", "/a/b/c"}
