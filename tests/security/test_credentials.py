"""Credentials that are doubled, hidden or forged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SECRETS = b"GET /api/v1/namespaces/default/secrets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
ALICE, ROOT = b"Authorization: Bearer alice-token\r\n", b"Authorization: Bearer root-token\r\n"


@pytest.mark.parametrize(
    ("headers", "status", "who"),
    [
        (ROOT, b"200", b"SecretList"),
        (ALICE, b"403", b'User \\"alice\\"'),
        (ALICE + ROOT, b"403", b'User \\"alice\\"'),
        (b"Authorization: Bearer alice-token, Bearer root-token\r\n", b"401", b"Unauthorized"),
        (b"Authorization: Bearer\r\n root-token\r\n", b"400", b""),
        (b"Authorization:\r\n\tBearer root-token\r\n", b"400", b""),
        (b"Authorization : Bearer root-token\r\n", b"400", b""),
        (b"Authorization: Bearer alice-token\rAuthorization: Bearer root-token\r\n", b"400", b""),
        (b"Authorization: Basic cm9vdDpyb290LXRva2Vu\r\n", b"403", b'User \\"system:anonymous\\"'),
        (b"X-Remote-User: root\r\nX-Remote-Group: system:masters\r\n", b"403", b'User \\"system:anonymous\\"'),
        (b"Proxy-Authorization: Bearer root-token\r\n", b"403", b'User \\"system:anonymous\\"'),
        (b"Cookie: token=root-token\r\n", b"403", b'User \\"system:anonymous\\"'),
    ],
)
def test_one_credential_counts_wherever_others_stand(raw, headers, status, who):
    (answer,) = raw(SECRETS + headers + b"\r\n")
    assert answer.startswith(status)
    assert who in answer


@pytest.mark.parametrize("name", ["access_token", "token", "authorization", "bearer_token", "api_key"])
def test_a_token_in_the_query_is_no_credential(raw, name):
    line = f"GET /api/v1/namespaces/default/secrets?{name}=root-token HTTP/1.1\r\n".encode()
    (answer,) = raw(line + b"Host: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"403")
    assert b'User \\"system:anonymous\\"' in answer


def test_a_credential_in_a_trailer_is_none(raw):
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    body = b"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\n" + ROOT + b"\r\n"
    (answer,) = raw(head + body)
    assert answer.startswith(b"403")
    assert b'User \\"system:anonymous\\"' in answer


@pytest.mark.parametrize(
    "headers",
    [
        b"Impersonate-User: root\r\n",
        b"impersonate-user: root\r\n",
        b"Impersonate-User: alice\r\nImpersonate-Group: system:masters\r\n",
        b"Impersonate-User: \r\nImpersonate-User: root\r\n",
        b"Impersonate-User: alice\r\nImpersonate-User: root\r\nImpersonate-Group: system:masters\r\n",
        b"Connection: impersonate-user, impersonate-group\r\nImpersonate-User: root\r\n",
        b"Impersonate_User: root\r\nImpersonate_Group: system:masters\r\n",
        b"Impersonate-User: alice\r\nImpersonate-Extra-scopes%2f: x\r\nImpersonate-Group: system:masters\r\n",
        b"Impersonate-User: system:serviceaccount:kube-system:default\r\n",
        b"Impersonate-User: system:node:n\r\nImpersonate-Group: system:nodes\r\n",
    ],
)
def test_no_shape_of_impersonation_gives_what_was_not_granted(raw, headers):
    (answer,) = raw(SECRETS + ALICE + headers + b"\r\n")
    assert answer.startswith(b"403")


@pytest.mark.parametrize("headers", [b"Impersonate-Group: system:masters\r\n", b"Impersonate-Uid: 1\r\n"])
def test_parts_of_an_identity_without_a_name_are_refused(raw, headers):
    (answer,) = raw(SECRETS + ALICE + headers + b"\r\n")
    assert answer.startswith(b"400")


def part(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=="), "big")


@pytest.fixture(scope="module")
def token_and_key(guarded):
    """A service account's token, and the key that this server's tokens are checked with."""
    with guarded.client("", token="root-token") as client:
        client.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "forged"}})
        token = client.create("/api/v1/namespaces/default/serviceaccounts/forged/token", {"spec": {}})
        (key,) = client.get("/openid/v1/jwks")["keys"]
    return token["status"]["token"], key


def shared_secrets(key: dict) -> list[bytes]:
    public = RSAPublicNumbers(number(key["e"]), number(key["n"])).public_key()
    return [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.PEM, PublicFormat.PKCS1),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        key["n"].encode(),
        b"",
    ]


def test_a_forged_token_is_refused_whatever_algorithm_it_names(guarded, token_and_key):
    token, key = token_and_key
    _, claims, signature = token.split(".")
    raised = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"sub": "system:serviceaccount:kube-system:admin"}
    forged = []
    for algorithm in ("none", "None", "NONE", "", "RS256", "ES256", "HS256"):
        header = {"alg": algorithm, "kid": key["kid"]}
        forged += [f"{part(header)}.{part(raised)}.{end}" for end in ("", signature)]
        forged.append(f"{part(header)}.{claims}.")
    for secret in shared_secrets(key):
        signed = f"{part({'alg': 'HS256', 'kid': key['kid']})}.{claims}"
        forged.append(f"{signed}.{part(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}")
    another = rsa.generate_private_key(65537, 2048)
    numbers = another.public_key().public_numbers()
    own = {"kty": "RSA", "n": part(numbers.n.to_bytes(256, "big")), "e": "AQAB"}
    for more in ({"kid": key["kid"]}, {"jwk": own}, {"jku": "https://127.0.0.1:1/"}, {"x5u": "https://127.0.0.1:1/"}):
        signed = f"{part({'alg': 'RS256', **more})}.{claims}"
        forged.append(f"{signed}.{part(another.sign(signed.encode(), PKCS1v15(), SHA256()))}")
    with guarded.client("", token=token) as client:
        assert client.call("GET", "/apis")[0] == 200, "the token itself is good"
    for each in forged:
        with guarded.client("", token=each) as client:
            assert client.call("GET", "/apis")[0] == 401, each


def test_a_token_of_another_issuer_is_not_checked_with_this_ones_key(guarded, token_and_key):
    """Signed by a key of ours or not, what another issuer's name stands in is none of ours."""
    token, _ = token_and_key
    header, claims, signature = token.split(".")
    other = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"iss": "https://elsewhere.example"}
    with guarded.client("", token=f"{header}.{part(other)}.{signature}") as client:
        assert client.call("GET", "/apis")[0] == 401
