"""Bootstrap tokens: which secrets are accepted as one, through a real server."""

from __future__ import annotations

import itertools

import pytest

from tests.server_process import Server

REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
SECRET = "0123456789abcdef"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("bootstrap"), "--enable-bootstrap-token-auth", "--authorization-mode=RBAC")
    try:
        yield server.start()
    finally:
        server.end()


@pytest.fixture
def bootstrap(server, numbers=itertools.count(100_000)):  # noqa: B008 - each token has an id of its own
    def ask(token_secret=SECRET, type="bootstrap.kubernetes.io/token", name="", **data):
        """Who a token of a secret with this data is: (status, user)."""
        id = str(next(numbers))
        fields = {"token_id": id, "token_secret": SECRET, "usage_bootstrap_authentication": "true", **data}
        secret = {
            "metadata": {"name": f"bootstrap-token-{name or id}"},
            "type": type,
            "stringData": {key.replace("_", "-"): value for key, value in fields.items() if value is not None},
        }
        with server.client() as admin, server.client("", token=f"{id}.{token_secret}") as node:
            admin.create("/api/v1/namespaces/kube-system/secrets", secret)
            status, answer = node.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", REVIEW)
        return (status, answer["status"]["userInfo"] | {"id": id}) if status == 201 else (status, answer["message"])

    return ask


def test_a_token_is_the_bootstrap_user_of_its_id(bootstrap):
    status, user = bootstrap()
    assert status == 201
    assert user["username"] == f"system:bootstrap:{user['id']}"
    assert user["groups"] == ["system:bootstrappers", "system:authenticated"]


def test_extra_groups_are_added_sorted_and_once(bootstrap):
    extra = "system:bootstrappers:workers,system:bootstrappers:a:b,system:bootstrappers:workers"
    _, user = bootstrap(auth_extra_groups=extra)
    assert user["groups"] == [
        "system:bootstrappers",
        "system:bootstrappers:a:b",
        "system:bootstrappers:workers",
        "system:authenticated",
    ]


@pytest.mark.parametrize("expiration", ["2999-01-01T00:00:00Z", "2999-01-01T00:00:00+02:00", ""])
def test_a_token_that_has_not_expired_is_accepted(bootstrap, expiration):
    assert bootstrap(expiration=expiration)[0] == 201


@pytest.mark.parametrize(
    "changed",
    [
        {"token_secret": "0123456789abcdee"},
        {"token_secret": "0123456789abcde"},
        {"token_secret": "0123456789ABCDEF"},
        {"type": "Opaque"},
        {"usage_bootstrap_authentication": "yes"},
        {"usage_bootstrap_authentication": None},
        {"expiration": "2001-01-01T00:00:00Z"},
        {"expiration": "tomorrow"},
        {"token_id": "zzzzzz", "type": "Opaque"},
        {"name": "aaaaaa", "token_id": "aaaaaa"},
        {"auth_extra_groups": "system:masters"},
        {"auth_extra_groups": "system:bootstrappers:ok,system:bootstrappers:"},
    ],
)
def test_a_token_that_does_not_fit_its_secret_is_no_token(bootstrap, changed):
    assert bootstrap(**changed) == (401, "Unauthorized")


def test_a_secret_that_is_deleted_is_a_token_no_more(server):
    id = "zzzzz9"
    secret = {
        "metadata": {"name": f"bootstrap-token-{id}", "finalizers": ["example.com/hold"]},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": id, "token-secret": SECRET, "usage-bootstrap-authentication": "true"},
    }
    secrets = "/api/v1/namespaces/kube-system/secrets"
    with server.client() as admin, server.client("", token=f"{id}.{SECRET}") as node:
        admin.create(secrets, secret)
        admin.call("DELETE", f"{secrets}/bootstrap-token-{id}")
        assert node.call("GET", "/api")[0] == 401


def test_without_the_flag_there_are_none(new_server):
    server = new_server("--authorization-mode=RBAC").start()
    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abcdef", "token-secret": SECRET, "usage-bootstrap-authentication": "true"},
    }
    with server.client() as admin, server.client("", token=f"abcdef.{SECRET}") as node:
        admin.create("/api/v1/namespaces/kube-system/secrets", secret)
        assert node.call("GET", "/api")[0] == 401
