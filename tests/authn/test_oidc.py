"""Tokens of OpenID providers: real servers, real TLS, keys that change."""

from __future__ import annotations

import time

import pytest

from tests.authn.issuer import Issuer, Key
from tests.server_process import Server

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


class World:
    """A server that trusts one issuer, by flags."""

    def __init__(self, folder, *flags):
        self.issuer = Issuer(folder / "issuer")
        self.server = Server(
            folder,
            "--authorization-mode=RBAC",
            f"--oidc-issuer-url={self.issuer.url}",
            "--oidc-client-id=us",
            f"--oidc-ca-file={self.issuer.server.ca.ensure()}",
            *flags,
        )

    def who(self, token):
        with self.server.client("", token=token) as client:
            status, body = client.call("POST", SELF, {})
        return body["status"]["userInfo"] if status == 201 else status

    def problem(self, token):
        """Why the token is refused, as a review tells it."""
        with self.server.client() as admin:
            status = admin.create(REVIEWS, {"spec": {"token": token}})["status"]
        assert not status.get("authenticated")
        assert token not in status["error"]
        return status["error"].removeprefix("[invalid bearer token, ").removesuffix("]")

    def end(self):
        self.server.end()
        self.issuer.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(
        tmp_path_factory.mktemp("oidc"),
        "--oidc-groups-claim=groups",
        "--oidc-groups-prefix=oidc:",
        "--oidc-required-claim=tenant=a,b",
        "--oidc-signing-algs=RS256,PS256",
    )
    try:
        world.server.start()
        yield world
    finally:
        world.end()


def test_a_token_is_the_user_its_claims_tell(world):
    user = world.who(world.issuer.token(groups=["dev", "ops"], tenant="a,b", jti="17"))
    assert user == {
        "username": f"{world.issuer.url}#alice",
        "groups": ["oidc:dev", "oidc:ops", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": ["JTI=17"]},
    }


def test_one_group_may_be_a_text_and_audiences_may_be_several(world):
    user = world.who(world.issuer.token(groups="dev", tenant="a,b", aud=["others", "us"]))
    assert user["groups"] == ["oidc:dev", "system:authenticated"]


def test_every_algorithm_that_was_asked_for_is_accepted(world):
    assert world.who(world.issuer.token(tenant="a,b", header={"alg": "PS256"}))["groups"] == ["system:authenticated"]


def test_a_token_without_a_key_name_is_tried_with_all_keys(world):
    assert world.who(world.issuer.token(tenant="a,b", header={"kid": ""}))["username"].endswith("#alice")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"aud": "others"}, 'oidc: verify token: oidc: expected audience "us" got ["others"]'),
        ({"aud": None}, 'oidc: verify token: oidc: expected audience "us" got []'),
        ({"exp": 1_000_000_000}, "oidc: token is expired (Token Expiry: 2001-09-09 01:46:40 +0000 UTC)"),
        ({"exp": None}, "oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"),
        ({"exp": "soon"}, "oidc: failed to unmarshal claims: invalid time"),
        ({"nbf": time.time() + 600}, "before the nbf (not before) time"),
        ({"sub": None}, 'oidc: parse username claims "sub": claim not present'),
        ({"sub": 3}, 'parse username claims "sub": json: cannot unmarshal number into Go value of type string'),
        (
            {"groups": {"a": 1}},
            'parse groups claim "groups": json: cannot unmarshal object into Go value of type string',
        ),
        ({"tenant": None}, "oidc: required claim tenant not present in ID token"),
        ({"tenant": "x"}, "oidc: required claim tenant value does not match. Got = x, want = a,b"),
        ({"tenant": ["a,b"]}, "oidc: parse claim tenant: json: cannot unmarshal array into Go value of type string"),
        ({"_claim_names": {"groups": "s"}}, "could not expand distributed claims: oidc: no claim sources"),
    ],
)
def test_a_bad_token_is_refused_and_only_its_claims_are_told(world, changed, said):
    token = world.issuer.token(**{"tenant": "a,b", **changed})
    assert world.who(token) == 401
    assert said in world.problem(token)


def test_clocks_may_differ_by_a_minute_as_to_the_beginning(world):
    assert world.who(world.issuer.token(tenant="a,b", nbf=time.time() + 30))["username"].endswith("#alice")


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS512", "ES256"])
def test_a_token_does_not_choose_how_it_is_verified(world, algorithm):
    token = world.issuer.token(tenant="a,b", header={"alg": algorithm})
    expected = f'oidc: id token signed with unsupported algorithm, expected ["RS256" "PS256"] got "{algorithm}"'
    assert world.problem(token) == f"oidc: verify token: {expected}"


def test_a_signature_of_another_key_by_the_same_name_is_none(world):
    token = world.issuer.token(key=Key(world.issuer.key.id), tenant="a,b")
    assert world.problem(token).endswith("failed to verify signature: failed to verify id token signature")


def test_a_changed_claim_breaks_the_signature(world):
    head, _, signature = world.issuer.token(tenant="a,b").split(".")
    _, payload, _ = world.issuer.token(tenant="a,b", sub="root").split(".")
    assert "failed to verify id token signature" in world.problem(f"{head}.{payload}.{signature}")


def test_a_token_of_another_issuer_is_no_token(world):
    token = world.issuer.token(iss="https://other.example", tenant="a,b")
    with world.server.client() as admin:
        status = admin.create(REVIEWS, {"spec": {"token": token}})["status"]
    assert status["error"] == "invalid bearer token"


def test_new_keys_are_fetched_when_a_token_needs_them_and_old_ones_are_forgotten(world):
    old = world.issuer.token(tenant="a,b", sub="before")
    world.issuer.rotate("second")
    assert world.who(world.issuer.token(tenant="a,b", sub="bob"))["username"].endswith("#bob")
    assert world.who(old) == 401
    fetches = world.issuer.fetches()
    assert world.who(world.issuer.token(tenant="a,b", sub="carl"))["username"].endswith("#carl")
    assert world.issuer.fetches() == fetches, "the key is known by now"


def test_reviews_name_the_audiences_of_this_api(world):
    token = world.issuer.token(tenant="a,b")
    with world.server.client() as admin:
        status = admin.create(REVIEWS, {"spec": {"token": token, "audiences": ["elsewhere"]}})["status"]
        assert not status.get("authenticated")


def test_metrics_tell_issuers_by_their_hash(world):
    world.who(world.issuer.token(tenant="a,b"))
    with world.server.client() as admin:
        _, text = admin.text("/metrics")
    prefix = "apiserver_authentication_jwt_authenticator"
    assert f'{prefix}_latency_seconds_count{{result="success",jwt_issuer_hash="sha256:' in text
    assert text.count(f"\n{prefix}_jwks_fetch_last_key_set_info{{") == 1
    assert world.issuer.url not in text


def test_an_issuer_that_is_not_there_yet_is_found_when_it_is(tmp_path):
    world = World(tmp_path, "--oidc-username-claim=email", "--oidc-username-prefix=-")
    try:
        world.server.start()
        world.issuer.status = 503
        token = world.issuer.token(email="a@example.org")
        assert world.problem(token) == "oidc: authenticator not initialized"
        world.issuer.status = 200
        while (user := world.who(token)) == 401:
            pass
        assert user["username"] == "a@example.org"
        assert world.problem(world.issuer.token(email="a@example.org", email_verified=False)) == (
            "oidc: email not verified"
        )
        assert world.who(world.issuer.token(email="a@example.org", email_verified=True))["username"] == "a@example.org"
        assert "parse 'email_verified' claim" in world.problem(world.issuer.token(email="a", email_verified="yes"))
    finally:
        world.end()


def test_groups_may_be_elsewhere_as_a_token_of_their_own(tmp_path):
    world = World(tmp_path, "--oidc-groups-claim=groups")
    issuer = world.issuer
    try:
        world.server.start()
        issuer.documents["/groups"] = issuer.token(sub="x", groups=["far"]).encode()
        source = {"endpoint": f"{issuer.url}/groups", "access_token": "hush"}
        claims = {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": source}}
        assert world.who(issuer.token(**claims))["groups"] == ["far", "system:authenticated"]
        asked = [asked for asked in issuer.server.asked if asked.path == "/groups"]
        assert asked[0].headers["authorization"] == "Bearer hush"
        issuer.documents["/groups"] = Key(issuer.key.id).sign({"iss": issuer.url, "groups": ["root"]}).encode()
        assert "verify distributed claim token" in world.problem(issuer.token(**claims, sub="bob"))
        issuer.documents["/groups"] = b"nonsense"
        assert "malformed token" in world.problem(issuer.token(**claims, sub="carl"))
    finally:
        world.end()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--oidc-client-id=a"], "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags"),
        (
            ["--oidc-issuer-url=http://a", "--oidc-client-id=a"],
            'jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https',
        ),
        (
            ["--oidc-issuer-url=https://a", "--oidc-client-id=a", "--oidc-signing-algs=HS256"],
            'oidc: unsupported signing alg: "HS256"',
        ),
        (
            ["--oidc-issuer-url=https://a", "--oidc-client-id=a", "--service-account-issuer=https://a"],
            "URL must not overlap with disallowed issuers: [https://a]",
        ),
    ],
)
def test_flags_that_do_not_fit_keep_it_from_starting(new_server, flags, said):
    server = new_server(*flags).launch()
    assert server.exit_status() == 1
    assert said in server.said
