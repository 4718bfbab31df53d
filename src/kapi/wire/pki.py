"""Certificates and keys on disk: the self-signed pair, a small authority that issues from its own CA, signing keys.

The law: a key never exists with a mode wider than 0600, a file is either whole or absent, and a CA is never replaced.
`cryptography` takes a tenth of a second to import, so it is imported only when something must be created or renewed:
beside each issued pair lies a receipt with the digests of the files and what was asked for, which is enough to see that
the pair still serves.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

DAY = 86_400.0
AUTHORITY_DAYS = 3_650
LEAF_DAYS = 365
RENEW_DAYS = 30
BACKDATE = 3_600.0  # As upstream: a client whose clock is behind still accepts a fresh certificate.

Pair = tuple[Path, Path]


class CertificateError(Exception):
    """A certificate or key that cannot be read, or that does not belong where it lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a leaf certificate is asked to say."""

    common_name: str
    organizations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ips: tuple[str, ...] = ()
    server: bool


def ensure_self_signed(
    cert_dir: Path, pair_name: str, host: str, alternate_names: Sequence[str], alternate_ips: Sequence[str]
) -> Pair:
    """The pair `<pair_name>.crt`/`.key` in `cert_dir`, made when neither file is there.

    As upstream's GenerateSelfSignedCertKey: the leaf, followed by the throw-away CA that signed it.
    """
    certificate_path, key_path = cert_dir / f"{pair_name}.crt", cert_dir / f"{pair_name}.key"
    if _both_exist(certificate_path, key_path):
        return certificate_path, key_path

    now = time.time()
    ca_key = _new_key()
    ca = _sign_authority(f"{host}-ca@{int(now)}", ca_key, now, LEAF_DAYS)
    key = _new_key()
    names, ips = _split_names([host, *alternate_names, *alternate_ips])
    subject = Subject(common_name=f"{host}@{int(now)}", names=names, ips=ips, server=True)
    leaf = _sign_leaf(subject, key.public_key(), ca, ca_key, now)
    _write_pair(certificate_path, _pem(leaf) + _pem(ca), key_path, _key_pem(key))
    return certificate_path, key_path


def ensure_service_account_keys(directory: Path) -> Pair:
    """The private and public key that sign and check service account tokens: `sa.key` and `sa.pub`."""
    private_path, public_path = directory / "sa.key", directory / "sa.pub"
    if _both_exist(private_path, public_path):
        return private_path, public_path

    from cryptography.hazmat.primitives import serialization  # only on the first start
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write_pair(public_path, public, private_path, _key_pem(key))
    return private_path, public_path


class Authority:
    """A certificate authority in a directory: `ca.crt`, `ca.key` and the pairs it issued.

    A leaf is renewed when it has less than 30 days left, when it should say something else, or when its files are not
    those that were issued.
    """

    def __init__(self, directory: Path, *, now: Callable[[], float] = time.time) -> None:
        self.directory = directory
        self.certificate = directory / "ca.crt"
        self.key = directory / "ca.key"
        self._now = now

    def ensure(self) -> Path:
        """Creates the CA unless it is there; returns the path of its certificate."""
        if not _both_exist(self.certificate, self.key):
            key = _new_key()
            ca = _sign_authority("kapi-ca", key, self._now(), AUTHORITY_DAYS)
            _write_pair(self.certificate, _pem(ca), self.key, _key_pem(key))
        return self.certificate

    def issue_server(self, names: Sequence[str], ips: Sequence[str], *, pair_name: str = "apiserver") -> Pair:
        """A serving certificate for these DNS names and addresses."""
        dns, addresses = _split_names([*names, *ips])
        subject = Subject(common_name="kube-apiserver", names=dns, ips=addresses, server=True)
        return self._issue(pair_name, subject)

    def issue_client(
        self, common_name: str, organizations: Sequence[str] = (), *, pair_name: str | None = None
    ) -> Pair:
        """A client certificate: the common name is the user, the organizations are its groups."""
        subject = Subject(common_name=common_name, organizations=tuple(organizations), server=False)
        return self._issue(pair_name or common_name.replace(":", "-").replace("/", "-"), subject)

    def _issue(self, pair_name: str, subject: Subject) -> Pair:
        self.ensure()
        certificate_path, key_path = self.directory / f"{pair_name}.crt", self.directory / f"{pair_name}.key"
        receipt_path = self.directory / f"{pair_name}.json"
        if self._still_serves(receipt_path, certificate_path, key_path, subject):
            return certificate_path, key_path

        ca, ca_key = self._load()
        key = _new_key()
        now = self._now()
        leaf = _sign_leaf(subject, key.public_key(), ca, ca_key, now)
        _write_pair(certificate_path, _pem(leaf), key_path, _key_pem(key))
        receipt = self._receipt(certificate_path, key_path, subject)
        receipt["not_after"] = leaf.not_valid_after_utc.timestamp()
        write_atomically(receipt_path, json.dumps(receipt, indent=1).encode() + b"\n", 0o600)
        return certificate_path, key_path

    def _still_serves(self, receipt_path: Path, certificate_path: Path, key_path: Path, subject: Subject) -> bool:
        try:
            receipt = json.loads(receipt_path.read_bytes())
            not_after = float(receipt.pop("not_after"))
            expected = self._receipt(certificate_path, key_path, subject)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return bool(receipt == expected) and not_after - self._now() >= RENEW_DAYS * DAY

    def _receipt(self, certificate_path: Path, key_path: Path, subject: Subject) -> dict[str, object]:
        files = (self.certificate, certificate_path, key_path)
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        return {"subject": json.loads(json.dumps(asdict(subject))), "digests": digests}

    def _load(self) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            ca = x509.load_pem_x509_certificate(_read(self.certificate))
            key = load_pem_private_key(_read(self.key), None)
        except (ValueError, TypeError) as error:
            raise CertificateError(f"the certificate authority in {self.directory} is not readable: {error}") from error
        if not isinstance(key, EllipticCurvePrivateKey) or key.public_key() != ca.public_key():
            raise CertificateError(f"{self.key} is not the key of {self.certificate}")
        if ca.not_valid_after_utc.timestamp() <= self._now():
            raise CertificateError(f"the certificate authority {self.certificate} has expired")
        return ca, key


def write_atomically(path: Path, content: bytes, mode: int) -> None:
    """Replaces `path` as a whole: a reader sees the old file or the new one, also after a power cut."""
    import tempfile  # only where something is written

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_pair(certificate_path: Path, certificate: bytes, key_path: Path, key: bytes) -> None:
    try:
        write_atomically(key_path, key, 0o600)
        write_atomically(certificate_path, certificate, 0o644)
    except OSError as error:
        raise CertificateError(f"cannot write {certificate_path} and its key: {error.strerror or error}") from error


def _both_exist(one: Path, other: Path) -> bool:
    found = [_exists(one), _exists(other)]
    if found[0] != found[1]:
        present, absent = (one, other) if found[0] else (other, one)
        raise CertificateError(f"{present} exists but {absent} does not: both must exist, or neither")
    return found[0]


def _exists(path: Path) -> bool:
    """Whether it is there; when it is, it must be readable."""
    try:
        with path.open("rb"):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CertificateError(f"cannot read {path}: {error.strerror or error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"cannot read {path}: {error.strerror or error}") from error


def _split_names(values: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """DNS names and addresses, each once, in the order given."""
    names: dict[str, None] = {}
    ips: dict[str, None] = {}
    for value in filter(None, values):
        try:
            ips[str(ipaddress.ip_address(value))] = None
        except ValueError:
            names[value] = None
    return tuple(names), tuple(ips)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, value) for value in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, now: float, days: int) -> x509.CertificateBuilder:
    from datetime import UTC, datetime

    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(now - BACKDATE, UTC))
        .not_valid_after(datetime.fromtimestamp(now + days * DAY, UTC))
    )


def _usage(*, ca: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _sign_authority(common_name: str, key: EllipticCurvePrivateKey, now: float, days: int) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    public = key.public_key()
    name = _name(common_name)
    return (
        _builder(name, name, now, days)
        .public_key(public)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(ca=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, SHA256())
    )


def _sign_leaf(
    subject: Subject,
    public: EllipticCurvePublicKey,
    ca: x509.Certificate,
    ca_key: EllipticCurvePrivateKey,
    now: float,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID

    purpose = ExtendedKeyUsageOID.SERVER_AUTH if subject.server else ExtendedKeyUsageOID.CLIENT_AUTH
    identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    builder = (
        _builder(_name(subject.common_name, subject.organizations), ca.subject, now, LEAF_DAYS)
        .public_key(public)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(authority, critical=False)
    )
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in subject.names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in subject.ips]
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(ca_key, SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: PrivateKeyTypes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
