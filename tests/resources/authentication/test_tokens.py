"""Token requests, token reviews, and who one is: against a real server that issues tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.server_process import Server

ISSUER = "https://issuer.example"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator:
    folder = tmp_path_factory.mktemp("tokens")
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "sa.key").write_bytes(pem)
    server = Server(
        folder,
        "--authorization-mode=RBAC",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-signing-key-file={folder / 'sa.key'}",
        "--service-account-max-token-expiration=2h",
    )
    try:
        yield server.start()
    finally:
        server.end()


@pytest.fixture
def admin(server):
    with server.client() as client:
        yield client


@pytest.fixture
def account(admin):
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    yield admin.create(ACCOUNTS, body)
    admin.call("DELETE", f"{ACCOUNTS}/robot")


def request(client, name="robot", **spec):
    return client.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})


def review(client, token, *audiences):
    return client.create(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": token, "audiences": audiences}})["status"]


def test_a_requested_token_is_its_account(server, admin, account):
    status, answer = request(admin)
    assert status == 201
    assert answer["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    token = answer["status"]["token"]
    found = review(admin, token)
    assert (found["authenticated"], found["audiences"]) == (True, [ISSUER])
    assert found["user"]["username"] == "system:serviceaccount:default:robot"
    assert found["user"]["uid"] == account["metadata"]["uid"]
    with server.client("", token=token) as robot:
        assert robot.call("GET", "/api/v1/namespaces/default/pods")[0] == 403


def test_a_token_for_others_is_refused_here(server, admin, account):
    token = request(admin, audiences=["vault"])[1]["status"]["token"]
    assert "is invalid for the target audiences" in review(admin, token)["error"]
    assert review(admin, token, "vault")["audiences"] == ["vault"]
    with server.client("", token=token) as robot:
        assert robot.call("GET", "/api")[0] == 401


def test_a_life_beyond_the_limit_is_shortened_with_a_warning(admin, account):
    response = admin.send("POST", f"{ACCOUNTS}/robot/token", {"spec": {"expirationSeconds": 10_000}})
    assert response.getheader("warning") == '299 - "requested expiration of 10000 seconds shortened to 7200 seconds"'
    assert b'"expirationSeconds":7200' in response.read()


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        (
            {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}},
            400,
            "cannot bind token to object",
        ),
        ({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "x"}}, 404, 'secrets "x" not found'),
        ({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1"}}, 400, "Name parameter required."),
        ({"boundObjectRef": {}}, 400, "cannot bind token to object of type /, Kind="),
        ({"boundObjectRef": {"kind": "Secret", "apiVersion": "a/b/c", "name": "x"}}, 404, 'secrets "x" not found'),
    ],
)
def test_what_cannot_be_issued_and_why(admin, account, spec, code, message):
    status, answer = request(admin, **spec)
    assert status == code
    assert message in answer["message"]


def test_a_request_names_its_account_or_nothing(admin, account):
    status, answer = admin.call("POST", f"{ACCOUNTS}/robot/token", {"metadata": {"name": "other"}})
    assert status == 422
    assert answer["message"] == (
        'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the '
        "service account name if specified"
    )


def test_what_is_not_stored_has_metadata_but_is_no_table(admin, account):
    for path in (f"{AUTHENTICATION}/selfsubjectreviews", f"{ACCOUNTS}/robot/token"):
        for kind, expected in (("Table", (406, "Status")), ("PartialObjectMetadata", (201, "PartialObjectMetadata"))):
            accept = f"application/json;as={kind};v=v1;g=meta.k8s.io"
            status, answer = admin.call("POST", path, {}, accept=accept)
            assert (status, answer["kind"]) == expected


def test_no_account_no_token(admin):
    assert request(admin, name="nosuch")[0] == 404
    assert admin.call("GET", f"{ACCOUNTS}/nosuch/token")[0] == 405


def test_the_issuer_tells_its_keys(admin):
    assert admin.get("/.well-known/openid-configuration")["id_token_signing_alg_values_supported"] == ["ES256"]
    status, keys = admin.call("GET", "/openid/v1/jwks", accept="application/jwk-set+json")
    assert (status, keys["keys"][0]["crv"]) == (200, "P-256")
    assert admin.call("GET", "/openid/v1/jwks", accept="application/json")[0] == 406


def test_one_is_whom_one_impersonates(admin):
    headers = {"impersonate_user": "zoe", "impersonate_group": "system:masters"}
    status, answer = admin.call("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, **headers)
    zoe = {"username": "zoe", "groups": ["system:masters", "system:authenticated"]}
    assert (status, answer["status"]["userInfo"]) == (201, zoe)


def test_whom_one_may_not_be_is_told_as_nothing_else(admin):
    response = admin.send("GET", "/api", impersonate_group="nobody's")
    assert (response.status, response.getheader("X-Content-Type-Options")) == (400, "nosniff")
    response.read()


def test_no_token_is_no_review(admin):
    status, answer = admin.call("POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {}})
    assert (status, answer["message"]) == (400, "token is required for TokenReview in authentication")
