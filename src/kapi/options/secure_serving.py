"""Secure serving flags: the TLS listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kapi.options import checks
from kapi.options.flag import flag
from kapi.options.kinds import BOOL, INT, INT32S, IP, NAMED_CERT_KEYS, STRING, STRINGS, NamedCertKey


def _cipher_suites(values: tuple[str, ...]) -> str | None:
    from kapi.wire.tls_names import cipher_string  # brings in ssl, which help does without

    return _value_error(cipher_string, values)


def _curves(values: tuple[int, ...]) -> str | None:
    from kapi.wire.tls_names import curve_names  # as above

    return _value_error(curve_names, values)


def _version(value: str) -> str | None:
    from kapi.wire.tls_names import min_version  # as above

    return _value_error(min_version, value)


def _value_error(check: Callable[[Any], object], value: object) -> str | None:
    """The wire knows the names; nothing is to be known of them when none is given."""
    if value:
        try:
            check(value)
        except ValueError as error:
            return str(error)
    return None


def _secure_port(value: int) -> str | None:
    if 1 <= value <= 65535:
        return None
    return f"{value} must be between 1 and 65535, inclusive. It cannot be turned off with 0"


@dataclass(kw_only=True, eq=False, repr=False)
class SecureServingOptions:
    """The secure serving flags, with their defaults."""

    section: ClassVar[str] = "secure serving"

    bind_address: str = flag(
        IP, "The address to listen on for --secure-port. 0.0.0.0 and :: are all interfaces.", default="0.0.0.0"
    )
    cert_dir: str = flag(
        STRING,
        "Where the self-signed certificate is kept. Not used when --tls-cert-file is given.",
        default="/var/run/kubernetes",
    )
    disable_http2_serving: bool = flag(BOOL, "Serve HTTP/1.1 only.")
    http2_max_streams_per_connection: int = flag(
        INT,
        "How many requests a client may have under way on one HTTP/2 connection. 0: 250.",
        check=checks.not_negative,
    )
    permit_address_sharing: bool = flag(
        BOOL, "Listen with SO_REUSEADDR: a specific address beside a wildcard one, and no wait for TIME_WAIT sockets."
    )
    permit_port_sharing: bool = flag(BOOL, "Listen with SO_REUSEPORT: several servers on one address and port.")
    secure_port: int = flag(
        INT,
        "The port for HTTPS with authentication and authorization. It cannot be off.",
        default=6443,
        check=_secure_port,
    )
    tls_cert_file: str = flag(
        STRING,
        "The serving certificate, followed by its CA's if there is one. Unset: self-signed, in --cert-dir.",
    )
    tls_cipher_suites: tuple[str, ...] = flag(
        STRINGS,
        "Cipher suites up to TLS 1.2, by Go's names, comma separated. Empty: the library's choice.",
        check=_cipher_suites,
    )
    tls_curve_preferences: tuple[int, ...] = flag(
        INT32S,
        "Key exchange curves by IANA number, in order of preference: 23 P-256, 24 P-384, 25 P-521, 29 X25519, "
        "4588 X25519MLKEM768. Empty: the library's choice.",
        check=_curves,
    )
    tls_min_version: str = flag(
        STRING,
        "The lowest TLS version: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. Unset: VersionTLS12.",
        check=_version,
    )
    tls_private_key_file: str = flag(STRING, "The key of --tls-cert-file.")
    tls_sni_cert_key: tuple[NamedCertKey, ...] = flag(
        NAMED_CERT_KEYS,
        "A certificate and key for some server names: 'file.crt,file.key' or 'file.crt,file.key:*.foo.com,foo.com'. "
        "Without names, those of the certificate. May be repeated.",
    )

    def validate(self) -> list[str]:
        errors = []
        if bool(self.tls_cert_file) != bool(self.tls_private_key_file):
            errors.append("--tls-cert-file and --tls-private-key-file must be specified together")
        elif self.tls_cert_file and (problem := checks.pair(self.tls_cert_file, self.tls_private_key_file)):
            errors.append(f"--tls-cert-file: {problem}")
        for named in self.tls_sni_cert_key:
            if problem := checks.pair(named.cert_file, named.key_file):
                errors.append(f"failed to load SNI cert and key: {problem}")
        return errors
