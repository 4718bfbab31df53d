"""Certificates: who asks cannot be claimed, decisions stay, and trust is named after its signer."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

REQUESTS = "certificates.k8s.io/v1:certificatesigningrequests"
BUNDLES = "certificates.k8s.io/v1:clustertrustbundles"
POD_REQUESTS = "certificates.k8s.io/v1:podcertificaterequests"


def pkcs10(encoding: Encoding) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(encoding)).decode()


def signing_request(**spec: Any) -> dict[str, Any]:
    given = {"request": pkcs10(Encoding.PEM), "signerName": "example.com/s", "usages": ["any"], **spec}
    return {"kind": "CertificateSigningRequest", "spec": given}


def pod_request(**spec: Any) -> dict[str, Any]:
    given = {
        "signerName": "example.com/s",
        "podName": "p",
        "podUID": "u1",
        "serviceAccountName": "default",
        "serviceAccountUID": "u2",
        "nodeName": "n",
        "nodeUID": "u3",
        "stubPKCS10Request": pkcs10(Encoding.DER),
        **spec,
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "PodCertificateRequest"}
    return {**kind, "metadata": {"name": "r"}, "spec": given}


def test_who_asks_is_who_is_authenticated(cluster: Any) -> None:
    made = cluster.made(REQUESTS, signing_request(username="somebody-else", groups=["system:masters", "more"]))
    assert made["spec"]["username"] == "admin"
    assert "more" not in made["spec"]["groups"]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"usages": ["any", "any"]}, 'spec.usages[1]: Duplicate value: "any"'),
        (
            {"expirationSeconds": 599},
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ),
        (
            {"signerName": "nobody"},
            'spec.signerName: Invalid value: "nobody": must be a fully qualified domain and path of the form '
            "'example.com/signer-name'",
        ),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via '
            "this API version",
        ),
    ],
)
def test_a_request_is_checked(cluster: Any, spec: Any, wrong: str) -> None:
    assert cluster.problems(REQUESTS, signing_request(**spec)) == [wrong]


def test_a_request_must_be_signed_with_its_own_key(cluster: Any) -> None:
    text = base64.b64decode(pkcs10(Encoding.PEM)).decode()
    lines = text.splitlines()
    body = bytearray(base64.b64decode("".join(lines[1:-1])))
    body[-1] ^= 1
    forged = f"{lines[0]}\n{base64.b64encode(bytes(body)).decode()}\n{lines[-1]}\n"
    [problem] = cluster.problems(REQUESTS, signing_request(request=base64.b64encode(forged.encode()).decode()))
    assert problem.endswith(": x509: ECDSA verification failure")


def test_a_request_that_is_cut_short_is_refused_in_gos_words(cluster: Any) -> None:
    body = base64.b64encode(b"\x30\x82\x10\x00\x30").decode()
    text = f"-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n"
    [problem] = cluster.problems(REQUESTS, signing_request(request=base64.b64encode(text.encode()).decode()))
    assert problem.endswith(": asn1: syntax error: data truncated")


def test_a_decision_is_made_once_and_only_where_decisions_are_made(cluster: Any) -> None:
    made = cluster.made(REQUESTS, signing_request())
    path = f"{REQUESTS}/{cluster.name}"
    approved = {"type": "Approved", "status": "True", "reason": "r"}
    elsewhere = cluster.call("PUT", f"{path}/status", {**made, "status": {"conditions": [approved]}})
    assert elsewhere.problems == ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']
    decided = cluster.call("PUT", f"{path}/approval", {**made, "status": {"conditions": [approved]}}).body
    assert decided["status"]["conditions"][0]["lastUpdateTime"]
    taken_back = cluster.call("PUT", f"{path}/approval", {**decided, "status": {}})
    assert taken_back.problems == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    assert cluster.cells(REQUESTS)["Condition"] == "Approved"


def test_a_signers_bundle_is_named_after_it(cluster: Any) -> None:
    body = {"kind": "ClusterTrustBundle", "spec": {"signerName": "example.com/s", "trustBundle": ""}}
    assert cluster.problems(BUNDLES, body) == [
        f'metadata.name: Invalid value: "{cluster.name}": ClusterTrustBundle for signerName example.com/s must be '
        "named with prefix example.com:s:",
        'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided',
    ]


def test_the_prefix_of_a_bundles_name_is_checked_too(cluster: Any) -> None:
    metadata = {"generateName": "a" * 260}
    body = {"kind": "ClusterTrustBundle", "metadata": metadata, "spec": {"trustBundle": ""}}
    assert cluster.problems(BUNDLES, body)[0] == (
        f'metadata.generateName: Invalid value: "{"a" * 260}": must be no more than 253 characters'
    )


def test_a_trust_anchor_stands_on_lines_of_its_own(cluster: Any) -> None:
    anchor = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    body = {"kind": "ClusterTrustBundle", "spec": {"trustBundle": f"garbage{anchor}"}}
    assert cluster.problems(BUNDLES, body) == [
        'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided'
    ]


def test_a_pod_proves_that_it_has_the_key(api: Any) -> None:
    assert api.create(POD_REQUESTS, pod_request(stubPKCS10Request=None)).problems == [
        "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
    ]
    garbage = base64.b64encode(b"no request").decode()
    assert api.create(POD_REQUESTS, pod_request(stubPKCS10Request=garbage)).problems == [
        "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"
    ]


def test_the_outcome_of_a_pods_request_is_final(api: Any) -> None:
    made = api.made(POD_REQUESTS, pod_request())
    denied = {
        "type": "Denied",
        "status": "True",
        "reason": "No",
        "message": "",
        "lastTransitionTime": "2024-05-01T10:00:00Z",
    }
    final = api.put(f"{POD_REQUESTS}/r/status", {**made, "status": {"conditions": [denied]}})
    assert final.status == 200, final.body
    again = api.put(f"{POD_REQUESTS}/r/status", {**final.body, "status": {}})
    assert again.problems == [
        "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"
    ]
    assert api.cells(f"{POD_REQUESTS}/r")["State"] == "Denied"
