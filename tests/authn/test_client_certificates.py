"""Client certificates: who they name, and all the ways in which they prove nothing."""

from __future__ import annotations

import os

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from kapi.api.errors import Unauthorized
from kapi.authn.anonymous import Anonymous
from kapi.authn.authenticator import Union
from kapi.authn.ca_bundle import CABundle, CABundleError
from kapi.authn.verify import VerificationError, verify_client
from kapi.authn.x509 import CREDENTIAL_ID, ClientCertificate


@pytest.fixture
def bundle(tmp_path, authority, clock):
    path = tmp_path / "ca.crt"
    path.write_bytes(authority.pem)
    return CABundle(path, clock)


@pytest.fixture
def certificates(bundle, clock):
    return ClientCertificate(bundle, clock)


def refusal(certificates, new_call, run, issued):
    with pytest.raises(Unauthorized) as error:
        run(certificates.authenticate(new_call(certificate=issued.der)))
    return error.value.message


def test_the_common_name_is_the_user_and_the_organizations_are_the_groups(certificates, new_call, run, authority):
    issued = authority.issue("bob", organizations=("dev", "ops"))
    user = run(certificates.authenticate(new_call(certificate=issued.der)))
    assert (user.name, user.uid, user.groups) == ("bob", "", ("dev", "ops", "system:authenticated"))
    (credential,) = user.extra[CREDENTIAL_ID]
    assert credential.startswith("X509SHA256=") and len(credential) == 11 + 64


def test_a_uid_in_the_subject_is_the_users(certificates, new_call, run, authority):
    issued = authority.issue("carla", uids=("uid-7",))
    assert run(certificates.authenticate(new_call(certificate=issued.der))).uid == "uid-7"
    assert "multiple" in refusal(certificates, new_call, run, authority.issue("carla", uids=("uid-7", "uid-8")))


def test_no_certificate_is_no_credential_and_no_common_name_is_nobody(certificates, new_call, run, authority):
    assert run(certificates.authenticate(new_call())) is None
    assert run(certificates.authenticate(new_call(certificate=authority.issue(None, organizations=("a",)).der))) is None


def test_no_extended_key_usage_is_any_usage(certificates, new_call, run, authority):
    assert (
        run(certificates.authenticate(new_call(certificate=authority.issue("plain", usage=None).der))).name == "plain"
    )


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"not_after": 1_799_999_000.0}, "expired"),
        ({"not_before": 1_800_000_900.0}, "not yet valid"),
        ({"usage": (ExtendedKeyUsageOID.SERVER_AUTH,)}, "incompatible key usage"),
        ({"critical": x509.OCSPNoCheck()}, "unhandled critical extension"),
    ],
)
def test_a_certificate_that_may_not_be_used_is_refused(certificates, new_call, run, authority, what, why):
    assert why in refusal(certificates, new_call, run, authority.issue("x", **what))


def test_another_authority_of_the_same_name_proves_nothing(certificates, new_call, run, other_authority):
    impostor = other_authority.issue("the-ca", ca=True).issue("bob")
    assert "unknown authority" in refusal(certificates, new_call, run, impostor)
    assert "unknown authority" in refusal(certificates, new_call, run, other_authority.issue("bob"))


def test_garbage_is_refused(certificates, new_call, run):
    with pytest.raises(Unauthorized):
        run(certificates.authenticate(new_call(certificate=b"\x30\x03abc")))


def test_a_bad_certificate_is_not_anonymous(certificates, new_call, run, other_authority):
    union = Union([certificates], anonymous=Anonymous())
    with pytest.raises(Unauthorized):
        run(union.authenticate(new_call(certificate=other_authority.issue("bob").der)))


def test_a_connection_is_verified_once(certificates, new_call, run, authority):
    call = new_call(certificate=authority.issue("bob").der)
    first = run(certificates.authenticate(call))
    assert run(certificates.authenticate(call)) is first
    assert call.request.connection.asked == 1


def test_a_certificate_that_expires_during_the_connection_is_refused_from_then_on(
    certificates, new_call, run, authority, clock
):
    call = new_call(certificate=authority.issue("bob").der)
    run(certificates.authenticate(call))
    clock.time += 3601
    with pytest.raises(Unauthorized, match="expired"):
        run(certificates.authenticate(call))


def test_a_changed_bundle_counts_for_open_connections_too(
    certificates, bundle, new_call, run, authority, other_authority, clock
):
    ours, theirs = (new_call(certificate=a.issue("bob").der) for a in (authority, other_authority))
    assert run(certificates.authenticate(ours)).name == "bob"
    with pytest.raises(Unauthorized):
        run(certificates.authenticate(theirs))
    bundle.path.write_bytes(other_authority.pem)
    clock.time += 2
    assert run(certificates.authenticate(theirs)).name == "bob"
    with pytest.raises(Unauthorized, match="unknown authority"):
        run(certificates.authenticate(ours))


def test_a_bundle_that_became_unreadable_leaves_the_old_one_in_place(
    certificates, bundle, new_call, run, authority, clock, capsys
):
    call = new_call(certificate=authority.issue("bob").der)
    bundle.path.write_text("not a certificate")
    clock.time += 2
    assert run(certificates.authenticate(call)).name == "bob"
    bundle.path.unlink()
    clock.time += 2
    assert run(certificates.authenticate(call)).name == "bob"
    assert capsys.readouterr().err.count("ca_bundle_not_reloaded") == 2


def test_touching_the_file_without_changing_it_keeps_the_generation(bundle, clock):
    before = bundle.refresh()
    os.utime(bundle.path, (1, 1))
    clock.time += 2
    assert bundle.refresh() == before


def test_a_bundle_without_certificates_is_an_error(tmp_path, clock):
    path = tmp_path / "ca.crt"
    with pytest.raises(CABundleError, match="No such file"):
        CABundle(path, clock)
    path.write_text("nothing")
    with pytest.raises(CABundleError, match="does not contain any valid"):
        CABundle(path, clock)


# --- chains


def verify(leaf, intermediates, roots, now):
    verify_client(leaf.certificate, [i.certificate for i in intermediates], [r.certificate for r in roots], now)


def test_a_chain_through_an_intermediate_needs_the_intermediate(authority, clock):
    intermediate = authority.issue("between", ca=True)
    leaf = intermediate.issue("leaf")
    verify(leaf, [intermediate], [authority], clock.now())
    with pytest.raises(VerificationError, match="unknown authority"):
        verify(leaf, [], [authority], clock.now())


@pytest.mark.parametrize("ca", [False, None])
def test_a_certificate_that_is_no_authority_cannot_sign(authority, clock, ca):
    bob = authority.issue("bob", ca=ca)
    with pytest.raises(VerificationError, match="cannot sign"):
        verify(bob.issue("mallory"), [bob], [authority], clock.now())


def test_an_authority_may_limit_the_chain_below_it(authority, clock):
    limited = authority.issue("limited", ca=True, path_length=0)
    verify(limited.issue("leaf"), [limited], [authority], clock.now())
    below = limited.issue("below", ca=True)
    with pytest.raises(VerificationError, match="too many intermediates"):
        verify(below.issue("leaf"), [below, limited], [authority], clock.now())


def test_an_expired_intermediate_breaks_the_chain(authority, clock):
    old = authority.issue("old", ca=True, not_after=clock.now() - 1)
    with pytest.raises(VerificationError, match="expired"):
        verify(old.issue("leaf"), [old], [authority], clock.now())


def test_two_authorities_that_sign_each_other_do_not_loop(authority, other_authority, clock):
    loop = [authority.issue("another-ca", ca=True), other_authority.issue("the-ca", ca=True)]
    stranger = other_authority.issue("self", ca=True)
    with pytest.raises(VerificationError):
        verify(stranger.issue("leaf"), [stranger, *loop], [], clock.now())
