"""Certificates: what is issued verifies in a real TLS handshake, and nothing is replaced that should stay."""

from __future__ import annotations

import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from kapi.wire.pki import DAY, Authority, CertificateError, ensure_self_signed, ensure_service_account_keys


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> tuple[dict[str, object], bytes | None]:
    """What the client sees of the server's certificate, and the certificate that the client presented."""
    here, there = socket.socketpair()
    seen: list[bytes | None] = []

    def serve() -> None:
        with there, suppress(ssl.SSLError), server.wrap_socket(there, server_side=True) as tls:
            seen.append(tls.getpeercert(binary_form=True))
            tls.send(b"x")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with here, client.wrap_socket(here, server_hostname=host) as tls:
        tls.recv(1)
        certificate = tls.getpeercert()
    thread.join(10)
    return dict(certificate or {}), seen[0]


def server_context(pair: tuple[Path, Path], client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def client_context(ca: Path, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if pair:
        context.load_cert_chain(*pair)
    return context


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def alternatives(certificate: x509.Certificate) -> tuple[list[str], list[str]]:
    value = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return value.get_values_for_type(x509.DNSName), [str(ip) for ip in value.get_values_for_type(x509.IPAddress)]


def test_the_self_signed_certificate_carries_its_authority_and_all_names(tmp_path: Path) -> None:
    pair = ensure_self_signed(tmp_path, "apiserver", "192.0.2.7", ["kubernetes", "localhost"], ["10.0.0.1", "fd00::1"])

    leaf, ca = x509.load_pem_x509_certificates(pair[0].read_bytes())
    assert alternatives(leaf) == (["kubernetes", "localhost"], ["192.0.2.7", "10.0.0.1", "fd00::1"])
    leaf.verify_directly_issued_by(ca)
    assert handshake(server_context(pair), client_context(pair[0]), "10.0.0.1")[0]["subjectAltName"]


def test_a_named_host_becomes_a_dns_name(tmp_path: Path) -> None:
    certificate, _ = ensure_self_signed(tmp_path, "apiserver", "api.example.com", [], [])
    assert alternatives(read(certificate)) == (["api.example.com"], [])


def test_a_self_signed_pair_that_is_there_is_kept(tmp_path: Path) -> None:
    pair = ensure_self_signed(tmp_path, "apiserver", "localhost", [], [])
    before = [path.read_bytes() for path in pair]
    ensure_self_signed(tmp_path, "apiserver", "elsewhere", ["other"], [])
    assert [path.read_bytes() for path in pair] == before


@pytest.mark.parametrize("missing", [0, 1])
def test_half_a_pair_is_refused_and_nothing_is_written(tmp_path: Path, missing: int) -> None:
    pair = ensure_self_signed(tmp_path, "apiserver", "localhost", [], [])
    pair[missing].unlink()
    with pytest.raises(CertificateError, match="both must exist, or neither"):
        ensure_self_signed(tmp_path, "apiserver", "localhost", [], [])
    assert not pair[missing].exists()


def test_keys_are_private_and_nothing_temporary_stays(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        _, self_signed = ensure_self_signed(tmp_path, "apiserver", "localhost", [], [])
        authority = Authority(tmp_path / "pki")
        _, issued = authority.issue_server(["localhost"], [])
        signing, _ = ensure_service_account_keys(tmp_path / "pki")
    finally:
        os.umask(old)
    assert {mode(path) for path in (self_signed, issued, signing, authority.key)} == {0o600}
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_issued_server_and_client_certificates_verify_each_other(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = authority.issue_server(["kubernetes.default.svc", "localhost"], ["127.0.0.1", "10.0.0.1"])
    client = authority.issue_client("kapi-admin", ["system:masters", "devs"])

    for host in ("kubernetes.default.svc", "127.0.0.1", "10.0.0.1"):
        _, presented = handshake(
            server_context(server, authority.certificate), client_context(authority.certificate, client), host
        )
        assert presented is not None
        subject = x509.load_der_x509_certificate(presented).subject.rfc4514_string()
        assert "CN=kapi-admin" in subject
        assert "O=system:masters" in subject
        assert "O=devs" in subject


def test_a_client_certificate_is_not_accepted_as_a_server(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    client = authority.issue_client("localhost")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server_context(client), client_context(authority.certificate), "localhost")


def test_a_good_certificate_is_kept_without_loading_cryptography(tmp_path: Path) -> None:
    issue = f"""
import sys
from pathlib import Path
from kapi.wire.pki import Authority, ensure_service_account_keys
directory = Path({str(tmp_path)!r})
print(Authority(directory).issue_server(["localhost"], ["127.0.0.1"])[0].read_text())
ensure_service_account_keys(directory)
print("cryptography" in sys.modules)
"""
    runs = [
        subprocess.run([sys.executable, "-c", issue], capture_output=True, text=True, check=True).stdout.rsplit("\n", 2)
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert [run[1] for run in runs] == ["True", "False"]


def test_a_certificate_with_less_than_thirty_days_left_is_renewed(tmp_path: Path) -> None:
    moment = 1_900_000_000.0
    clock = [moment]
    authority = Authority(tmp_path, now=lambda: clock[0])
    pair = authority.issue_server(["localhost"], [])
    first = read(pair[0])
    assert first.not_valid_after_utc.timestamp() == moment + 365 * DAY

    clock[0] = moment + 335 * DAY
    authority.issue_server(["localhost"], [])
    assert read(pair[0]) == first

    clock[0] += 1
    authority.issue_server(["localhost"], [])
    renewed = read(pair[0])
    assert renewed.serial_number != first.serial_number
    assert renewed.not_valid_after_utc.timestamp() == clock[0] + 365 * DAY


def test_a_changed_set_of_names_is_a_new_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue_server(["localhost"], ["127.0.0.1"])
    pair = authority.issue_server(["localhost"], ["127.0.0.1", "192.0.2.1"])
    assert alternatives(read(pair[0])) == (["localhost"], ["127.0.0.1", "192.0.2.1"])


@pytest.mark.parametrize("suffix", ["crt", "key", "json"])
def test_a_damaged_leaf_is_issued_again(tmp_path: Path, suffix: str) -> None:
    authority = Authority(tmp_path)
    authority.issue_server(["localhost"], [])
    (tmp_path / f"apiserver.{suffix}").write_text("[]")
    pair = authority.issue_server(["localhost"], [])
    assert handshake(server_context(pair), client_context(authority.certificate), "localhost")[0]


def test_a_leaf_of_another_authority_is_issued_again(tmp_path: Path) -> None:
    Authority(tmp_path).issue_server(["localhost"], [])
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "ca.key").unlink()
    authority = Authority(tmp_path)
    pair = authority.issue_server(["localhost"], [])
    read(pair[0]).verify_directly_issued_by(read(authority.certificate))


def test_a_damaged_authority_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.ensure()
    authority.certificate.write_text("rubbish")
    with pytest.raises(CertificateError, match="not readable"):
        authority.issue_server(["localhost"], [])
    assert authority.certificate.read_text() == "rubbish"


def test_the_key_of_another_authority_is_refused(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    ours.ensure()
    theirs.ensure()
    ours.key.write_bytes(theirs.key.read_bytes())
    with pytest.raises(CertificateError, match="is not the key of"):
        ours.issue_client("someone")


def test_an_expired_authority_is_an_error(tmp_path: Path) -> None:
    clock = [1_900_000_000.0]
    authority = Authority(tmp_path, now=lambda: clock[0])
    authority.ensure()
    clock[0] += 3_651 * DAY
    with pytest.raises(CertificateError, match="expired"):
        authority.issue_server(["localhost"], [])


def test_a_directory_in_the_way_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").mkdir()
    with pytest.raises(CertificateError, match=r"cannot read .*ca\.crt"):
        Authority(tmp_path).ensure()


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match="cannot"):
        Authority(tmp_path / "file" / "pki").ensure()


def test_the_service_account_keys_belong_together_and_stay(tmp_path: Path) -> None:
    private_path, public_path = ensure_service_account_keys(tmp_path)
    private = load_pem_private_key(private_path.read_bytes(), None)
    assert private.public_key() == load_pem_public_key(public_path.read_bytes())
    before = private_path.read_bytes()
    ensure_service_account_keys(tmp_path)
    assert private_path.read_bytes() == before
