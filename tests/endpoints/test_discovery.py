"""Discovery and OpenAPI, as clients ask for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.server_process import Client, Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client("admin", "system:masters") as found:
        yield found


def test_the_old_documents_and_the_aggregated_one_tell_the_same(client: Client) -> None:
    groups = [group["name"] for group in client.get("/apis")["groups"]]
    response = client.send("GET", "/apis", Accept=AGGREGATED)
    told = json.loads(response.read())
    assert response.headers["Content-Type"].endswith("as=APIGroupDiscoveryList")
    assert [item["metadata"]["name"] for item in told["items"]] == groups
    apps = next(item for item in told["items"] if item["metadata"]["name"] == "apps")
    resources = [r["resource"] for r in apps["versions"][0]["resources"]]
    listed = [r["name"] for r in client.get("/apis/apps/v1")["resources"] if "/" not in r["name"]]
    assert resources == listed
    deployments = next(r for r in apps["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    kinds = {sub["subresource"]: sub["responseKind"] for sub in deployments["subresources"]}
    assert kinds["scale"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def test_the_beta_of_the_aggregated_document_is_gone(client: Client) -> None:
    beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    response = client.send("GET", "/apis", Accept=beta)
    response.read()
    assert response.status == 406
    assert json.loads(client.send("GET", "/apis", Accept=f"{beta},application/json").read())["kind"] == "APIGroupList"


def test_the_only_operation_of_a_path_leaves_its_parameters_to_the_path(client: Client) -> None:
    document = json.loads(client.text("/openapi/v3/apis/authentication.k8s.io/v1")[1])
    path = document["paths"]["/apis/authentication.k8s.io/v1/tokenreviews"]
    assert [param["name"] for param in path["parameters"]] == ["dryRun", "fieldManager", "fieldValidation", "pretty"]
    assert "parameters" not in path["post"]


def test_a_document_tells_what_a_delete_answers_with(client: Client) -> None:
    def told(group_version: str, plural: str) -> str:
        document = json.loads(client.text(f"/openapi/v3/{group_version}")[1])
        answer = document["paths"][f"/{group_version}/{plural}/{{name}}"]["delete"]["responses"]["200"]
        return str(answer["content"]["application/json"]["schema"]["$ref"]).rpartition(".")[2]

    assert told("apis/storage.k8s.io/v1", "storageclasses") == "StorageClass"
    assert told("apis/scheduling.k8s.io/v1", "priorityclasses") == "Status"
    assert told("api/v1", "namespaces") == "Status"


def test_a_path_that_names_nothing_is_told_as_it_was_asked_for(client: Client) -> None:
    status, text = client.text("/api/v1/watch?a=1&b=2")
    path = "/api/v1/watch?a=1&amp;b=2"
    assert (status, text) == (
        500,
        f'Internal Server Error: "{path}": failed to create RequestInfo: '
        f"unable to determine kind and namespace from url, {path}\n",
    )


def test_an_aggregated_document_that_is_known_is_not_sent_again(client: Client) -> None:
    response = client.send("GET", "/apis", Accept=AGGREGATED)
    response.read()
    again = client.send("GET", "/apis", Accept=AGGREGATED, **{"If-None-Match": response.headers["Etag"]})
    assert (again.status, again.read()) == (304, b"")


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/apis/nope", 404, "text/plain; charset=utf-8"),
        ("/apis/nope/v1/things", 404, "text/plain; charset=utf-8"),
        ("/apis/apps/v9", 404, "application/json"),
        ("/apis/apps/v1/things", 404, "application/json"),
        ("/api/v1/configmaps/x", 404, "application/json"),
        ("/api/v1/namespaces/default/nodes", 404, "application/json"),
    ],
)
def test_what_is_not_served_is_not_found(client: Client, path: str, status: int, kind: str) -> None:
    response = client.send("GET", path)
    response.read()
    assert (response.status, response.headers["Content-Type"]) == (status, kind)


def test_every_group_version_has_a_document_under_its_hash(client: Client) -> None:
    index = json.loads(client.text("/openapi/v3")[1])["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"} <= index.keys()
    response = client.send("GET", index["apis/apps/v1"]["serverRelativeURL"])
    document = json.loads(response.read())
    assert "immutable" in response.headers["Cache-Control"]
    schemas = document["components"]["schemas"]
    assert "io.k8s.api.core.v1.PodSpec" in schemas
    references = set(json.dumps(document).split('"#/components/schemas/')[1:])
    assert {reference.partition('"')[0] for reference in references} <= schemas.keys()


def test_a_document_of_another_hash_is_elsewhere(client: Client) -> None:
    response = client.send("GET", "/openapi/v3/apis/apps/v1?hash=0")
    response.read()
    assert response.status == 301
    assert response.headers["Location"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_version_two_refers_only_to_what_it_defines(client: Client) -> None:
    document = client.get("/openapi/v2")
    references = json.dumps(document).split('"#/definitions/')[1:]
    assert {reference.partition('"')[0] for reference in references} <= document["definitions"].keys()
    identifiers = [
        operation["operationId"]
        for item in document["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(identifiers) == len(set(identifiers))


def test_version_two_is_protobuf_for_those_who_ask(client: Client) -> None:
    response = client.send("GET", "/openapi/v2", Accept=PROTOBUF)
    body = response.read()
    assert response.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert body.startswith(b"\x0a\x032.0")
    assert b"#/definitions/io.k8s.api.core.v1.PodSpec" in body


def test_version_three_is_protobuf_for_those_who_ask(client: Client) -> None:
    response = client.send("GET", "/openapi/v3/apis/apps/v1", Accept=PROTOBUF.replace("v2@", "v3@"))
    body = response.read()
    assert response.headers["Content-Type"] == "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    assert body.startswith(b"\x0a\x053.0.0")
    assert b"#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec" in body


def test_the_index_lists_what_tells_of_the_tokens_issuer_where_it_is_served(
    client: Client, new_server: Callable[..., Server]
) -> None:
    issuer = {".well-known/openid-configuration", "openid/v1/jwks"}
    index = json.loads(client.text("/openapi/v3")[1])["paths"]
    assert "version" in index
    assert not issuer & index.keys()
    with new_server("--service-account-issuer=https://issuer.example.com").start().client() as other:
        assert issuer <= json.loads(other.text("/openapi/v3")[1])["paths"].keys()


@pytest.mark.parametrize(
    ("path", "identifier", "schema"),
    [
        ("api", "getCoreAPIVersions", "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions"),
        ("apis", "getAPIVersions", "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList"),
        (
            "apis/rbac.authorization.k8s.io",
            "getRbacAuthorizationAPIGroup",
            "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup",
        ),
        ("version", "getCodeVersion", "io.k8s.apimachinery.pkg.version.Info"),
    ],
)
def test_what_belongs_to_no_group_version_is_described(client: Client, path: str, identifier: str, schema: str) -> None:
    document = client.get(f"/openapi/v3/{path}")
    assert document["paths"][f"/{path}/"]["get"]["operationId"] == identifier
    assert schema in document["components"]["schemas"]
    assert client.get("/openapi/v2")["paths"][f"/{path}/"]["get"]["operationId"] == identifier


def test_a_group_of_a_server_that_tells_nothing_is_stale(client: Client) -> None:
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    spec = {
        "group": "stale.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nosuch", "namespace": "default"},
    }
    client.create(services, {"metadata": {"name": "v1.stale.example.com"}, "spec": spec})
    try:
        told = json.loads(client.send("GET", "/apis", Accept=AGGREGATED).read())["items"]
        versions = {group["metadata"].get("name", ""): group["versions"] for group in told}
        assert versions["stale.example.com"] == [{"version": "v1", "freshness": "Stale"}]
        assert {version["freshness"] for version in versions["apps"]} == {"Current"}
    finally:
        client.call("DELETE", f"{services}/v1.stale.example.com")
