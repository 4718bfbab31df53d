"""Service account tokens: what is accepted, what is not, and why; issued by the same keys or forged."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kapi.api.errors import Unauthorized
from kapi.authn.jwt import BAD_SIGNATURE, NO_KEYS, b64
from kapi.authn.service_account import (
    INVALID_SINCE_LABEL,
    LEGACY_ISSUER,
    ServiceAccountTokens,
    bound_tokens,
    legacy_tokens,
)
from kapi.authn.service_account_metrics import ServiceAccountMetrics
from kapi.authn.signing_keys import KeyFileError, PublicKey, SigningKey, load_public_keys
from kapi.authn.token_issuer import Bound, TokenIssuer
from kapi.authn.tokens import KEPT_SECONDS, Tokens
from kapi.telemetry.metrics import Registry

UNBOUND = Bound()
ISSUER = "https://issuer.example"
SUBJECT = "system:serviceaccount:ns:robot"
ACCOUNT = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u1"}}
POD = {"metadata": {"namespace": "ns", "name": "pod", "uid": "p1"}}


@pytest.fixture(scope="module")
def key():
    return SigningKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))


@pytest.fixture(scope="module")
def other_key():
    return SigningKey(ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def objects():
    """What the tokens' references lead to."""
    return {("serviceaccounts", "ns", "robot"): ACCOUNT, ("pods", "ns", "pod"): POD}


@pytest.fixture
def checked(key, objects, clock):
    async def get(resource, namespace, name):
        return objects.get((resource.resource, namespace, name))

    return ServiceAccountTokens(
        keys=lambda: [key.public], audiences=("api",), clock=clock, get=get, metrics=ServiceAccountMetrics(Registry())
    )


@pytest.fixture
def issue(key, clock):
    def make(bound=UNBOUND, audiences=("api",), seconds=600):
        return TokenIssuer(ISSUER, lambda: key).issue(ACCOUNT, bound, list(audiences), int(clock.now()), seconds).token

    return make


@pytest.fixture
def user_of(checked, run):
    """Whose token it is; the text of the refusal when it is refused; None when it is of another kind."""

    def ask(token, audiences=()):
        try:
            found = run(bound_tokens([ISSUER], checked).authenticate_token(token, audiences))
        except Unauthorized as error:
            return error.message
        return found and found.user

    return ask


def forged(key, claims, **header):
    text = f"{b64(orjson.dumps({'alg': key.algorithm, **header}))}.{b64(orjson.dumps(claims))}"
    return f"{text}.{b64(key.sign(text.encode()))}"


def test_an_issued_token_is_its_account_with_its_groups(issue, user_of):
    user = user_of(issue())
    assert (user.name, user.uid) == (SUBJECT, "u1")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


def test_a_token_is_good_until_a_minute_after_its_end(issue, user_of, clock):
    token = issue(seconds=600)
    clock.time += 659
    assert user_of(token).name == SUBJECT
    clock.time += 2
    assert user_of(token) == "service account token has expired"


def test_a_token_from_the_future_is_not_good_yet(issue, user_of, clock):
    token = issue()
    clock.time -= 120
    assert user_of(token) == "service account token is not valid yet"


def test_a_token_for_others_is_not_for_this_api(issue, user_of):
    token = issue(audiences=("vault",))
    assert user_of(token) == 'token audiences ["vault"] is invalid for the target audiences ["api"]'
    assert user_of(token, ("vault",)).name == SUBJECT


def test_a_token_ends_with_its_account(issue, user_of, objects):
    token = issue()
    objects["serviceaccounts", "ns", "robot"] = {"metadata": {**ACCOUNT["metadata"], "uid": "u2"}}
    assert user_of(token) == "service account UID (u2) does not match claim (u1)"
    objects.clear()
    assert user_of(token) == 'serviceaccounts "robot" not found'


def test_a_bound_token_ends_with_what_it_is_bound_to(issue, user_of, objects):
    token = issue(Bound(pod=POD, node={"metadata": {"name": "n1"}}))
    extra = user_of(token).extra
    assert extra["authentication.kubernetes.io/pod-name"] == ("pod",)
    assert extra["authentication.kubernetes.io/node-name"] == ("n1",)
    objects["pods", "ns", "pod"] = {"metadata": {**POD["metadata"], "uid": "p2"}}
    assert user_of(token) == "pod UID (p2) does not match service account pod ref claim (p1)"
    del objects["pods", "ns", "pod"]
    assert user_of(token) == "service account token has been invalidated"


def test_what_is_being_deleted_for_more_than_a_minute_counts_as_gone(issue, user_of, objects, clock):
    token = issue(Bound(pod=POD))
    objects["pods", "ns", "pod"] = {"metadata": {**POD["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    clock.time = 1_800_000_000.0  # 2027-01-15T08:00:00Z
    assert user_of(token).name == SUBJECT
    clock.time += 61
    assert user_of(token) == "service account token has been invalidated"


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "HS256"}, {"alg": "RS384"}, {"alg": 7}, {}])
def test_no_other_algorithm_verifies_what_one_key_signed(user_of, key, header):
    token = forged(key, {"iss": ISSUER, "aud": ["api"]}, **{"alg": "RS512", **header})
    assert user_of(token) == BAD_SIGNATURE


def test_the_public_key_is_no_shared_secret(user_of, key):
    secret = key.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    header, claims = b64(orjson.dumps({"alg": "HS256"})), b64(orjson.dumps({"iss": ISSUER}))
    text = f"{header}.{claims}"
    assert user_of(f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}") == BAD_SIGNATURE


def test_a_key_that_is_not_this_servers_signs_nothing(user_of, other_key, key):
    claims = {"iss": ISSUER, "aud": ["api"]}
    assert user_of(forged(other_key, claims)) == BAD_SIGNATURE
    assert user_of(forged(other_key, claims, kid=key.id)) == BAD_SIGNATURE
    assert user_of(forged(key, claims, kid="nosuch")) == NO_KEYS


@pytest.mark.parametrize(
    "token", ["", "x", "a.b", "a.b.c", "a.b.c.d", "....", f"{b64(b'[]')}.{b64(b'{}')}.x", f"{b64(b'{}')}.{b64(b'7')}.x"]
)
def test_what_is_no_token_of_this_issuer_is_left_to_others(user_of, token):
    assert user_of(token) is None


def test_a_token_that_demands_an_extension_is_not_understood(user_of, key):
    assert user_of(forged(key, {"iss": ISSUER}, crit=["b64"])) is None


def test_a_changed_claim_breaks_the_signature(issue, user_of):
    header, _, signature = issue().split(".")
    assert user_of(f"{header}.{b64(orjson.dumps({'iss': ISSUER, 'sub': 'x'}))}.{signature}") == BAD_SIGNATURE


def test_an_elliptic_key_issues_and_verifies_too(other_key, run, objects, clock):
    async def get(resource, namespace, name):
        return objects.get((resource.resource, namespace, name))

    checked = ServiceAccountTokens(
        keys=lambda: [other_key.public],
        audiences=("api",),
        clock=clock,
        get=get,
        metrics=ServiceAccountMetrics(Registry()),
    )
    token = TokenIssuer(ISSUER, lambda: other_key).issue(ACCOUNT, Bound(), ["api"], int(clock.now()), 600).token
    assert run(bound_tokens([ISSUER], checked).authenticate_token(token, ())).user.name == SUBJECT
    assert set(other_key.public.jwk) == {"use", "kty", "kid", "alg", "crv", "x", "y"}


def test_keys_are_read_from_private_and_public_files_and_certificates(tmp_path, key, authority):
    pem = serialization.Encoding.PEM
    private = key.private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    path = tmp_path / "keys.pem"
    path.write_bytes(private + public + authority.pem)
    found = load_public_keys(path)
    assert [k.id for k in found[:2]] == [key.id, key.id]
    assert found[2].id == PublicKey(authority.certificate.public_key()).id
    path.write_bytes(b"nothing")
    with pytest.raises(KeyFileError, match="does not contain any valid"):
        load_public_keys(path)
    with pytest.raises(KeyFileError, match="holds no private key"):
        SigningKey.load(path)


class Legacy:
    """A legacy token, and the secret it lies in."""

    def __init__(self, key, objects, checked, run):
        self.used = []
        self._run = run
        prefix = "kubernetes.io/serviceaccount/"
        self.claims = {
            "iss": LEGACY_ISSUER,
            "sub": SUBJECT,
            f"{prefix}namespace": "ns",
            f"{prefix}secret.name": "s",
            f"{prefix}service-account.name": "robot",
            f"{prefix}service-account.uid": "u1",
        }
        self.token = forged(key, self.claims)
        self.metadata = {"namespace": "ns", "name": "s", "uid": "s1"}
        self.secret = {"metadata": self.metadata, "data": {"token": b64encode(self.token.encode()).decode()}}
        objects["secrets", "ns", "s"] = self.secret

        async def note(secret):
            self.used.append(secret["metadata"]["name"])

        self._kind = legacy_tokens(checked, note)

    def ask(self, token=None):
        try:
            return self._run(self._kind.authenticate_token(token or self.token, ()))
        except Unauthorized as error:
            return error.message


@pytest.fixture
def legacy(key, objects, checked, run):
    return Legacy(key, objects, checked, run)


def test_a_legacy_token_is_good_while_it_lies_in_its_secret(legacy, objects):
    found = legacy.ask()
    assert (found.user.name, found.warnings, legacy.used) == (SUBJECT, (), ["s"])
    prefix = "authentication.k8s.io/legacy-token"
    assert found.notes == {prefix: SUBJECT, f"{prefix}-manual-secret": "s"}
    del objects["secrets", "ns", "s"]
    assert legacy.ask() == "Token has been invalidated"


def test_a_legacy_token_that_was_replaced_or_marked_is_refused(legacy):
    legacy.secret["data"]["token"] = b64encode(b"another").decode()
    assert legacy.ask() == "Token does not match server's copy"
    legacy.secret["data"]["token"] = b64encode(legacy.token.encode()).decode()
    legacy.metadata["labels"] = {INVALID_SINCE_LABEL: "2024-01-01"}
    assert "has been marked invalid" in legacy.ask()


def test_a_generated_legacy_token_is_warned_of(legacy, objects):
    objects["serviceaccounts", "ns", "robot"] = {**ACCOUNT, "secrets": [{"name": "s"}]}
    found = legacy.ask()
    assert "instead of auto-generated secret-based tokens" in found.warnings[0]
    assert found.notes["authentication.k8s.io/legacy-token-autogenerated-secret"] == "s"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("sub", "sub claim is missing"),
        ("kubernetes.io/serviceaccount/namespace", "namespace claim is missing"),
        ("kubernetes.io/serviceaccount/secret.name", "secretName claim is missing"),
        ("kubernetes.io/serviceaccount/service-account.uid", "serviceAccountUID claim is missing"),
    ],
)
def test_a_legacy_token_must_say_everything(legacy, key, claim, message):
    assert legacy.ask(forged(key, {k: v for k, v in legacy.claims.items() if k != claim})) == message


def test_a_token_used_past_the_life_it_was_asked_for_is_noted(key, checked, clock, run):
    issuer, now = TokenIssuer(ISSUER, lambda: key), int(clock.now())
    token = issuer.issue(ACCOUNT, Bound(pod=POD), ["api"], now, 31536000, 3607).token
    kind = bound_tokens([ISSUER], checked)
    assert run(kind.authenticate_token(token, ())).notes == {}
    clock.time += 3607 + 42
    assert run(kind.authenticate_token(token, ())).notes == {
        "authentication.k8s.io/stale-token": f"subject: {SUBJECT}, seconds after warning threshold: 42"
    }
    counted = checked.metrics
    assert (counted.valid.values[()], counted.stale.values[()]) == (1, 1)


def test_an_accepted_token_is_kept_for_ten_seconds_and_a_refused_one_is_not(issue, checked, objects, clock, run):
    tokens = Tokens([bound_tokens([ISSUER], checked)], ("api",), clock)
    token = issue()
    account = objects.pop(("serviceaccounts", "ns", "robot"))
    with pytest.raises(Unauthorized, match=r"\[invalid bearer token, serviceaccounts \"robot\" not found\]"):
        run(tokens.authenticate(token))
    objects["serviceaccounts", "ns", "robot"] = account
    assert run(tokens.authenticate(token)).user.name == SUBJECT
    objects.clear()
    clock.time += KEPT_SECONDS - 1
    assert run(tokens.authenticate(token)).user.name == SUBJECT
    clock.time += 2
    with pytest.raises(Unauthorized):
        run(tokens.authenticate(token))
