"""TLS for a listener: certificates by server name, client certificates asked for but not judged, files reloaded.

asyncio asks a context only for `wrap_bio`; the listener's context passes that on to the current one. So new
connections get new certificates, and old connections keep theirs.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kapi.wire.framing import ErrorLog
from kapi.wire.tls_names import cipher_string, curve_names, min_version
from kapi.wire.tls_native import request_any_certificate, set_groups

_NOT_TLS = (
    b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\nContent-Length: 48\r\n\r\n"
    b"Client sent an HTTP request to an HTTPS server.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SNICertificate:
    """A certificate for some server names. Without patterns, for the names that it carries."""

    cert_file: str
    key_file: str
    names: tuple[str, ...] = ()  # "example.com" or "*.example.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class TLSConfig:
    """What the flags say. Raises ValueError for names that do not exist."""

    cert_file: str
    key_file: str
    sni: tuple[SNICertificate, ...] = ()
    client_ca_files: tuple[str, ...] = ()  # none: clients are not asked for a certificate
    min_version: str = "VersionTLS12"
    cipher_suites: tuple[str, ...] = ()
    curve_preferences: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        min_version(self.min_version)
        cipher_string(self.cipher_suites)
        curve_names(self.curve_preferences)

    @property
    def files(self) -> tuple[str, ...]:
        pairs = [(entry.cert_file, entry.key_file) for entry in self.sni]
        return (self.cert_file, self.key_file, *(name for pair in pairs for name in pair), *self.client_ca_files)


class ServerTLS:
    """The listener's TLS. `context` is what to give to asyncio; it stays the same through reloads."""

    def __init__(self, config: TLSConfig, alpn: Sequence[str], log: ErrorLog) -> None:
        self._config = config
        self._alpn = list(alpn)
        self._log = log
        self._stamps = _stamps(config.files)
        self._contents = _contents(config.files)
        self.context = _Outer(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = self._build()

    def reload_if_touched(self) -> bool:
        stamps = _stamps(self._config.files)
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        return self.reload()

    def reload(self) -> bool:
        """Use the files as they are now. What cannot be loaded leaves the old certificates in force."""
        try:
            contents = _contents(self._config.files)
            if contents == self._contents:
                return False
            self.context.current = self._build()
        except (OSError, ValueError) as error:
            self._log.error("tls_reload_failed", error=str(error), files=" ".join(self._config.files))
            return False
        self._contents = contents
        return True

    def _build(self) -> _Inner:
        default = self._context(self._config.cert_file, self._config.key_file)
        by_name: dict[str, ssl.SSLContext] = {}
        for entry in self._config.sni:
            context = self._context(entry.cert_file, entry.key_file)
            for name in entry.names or certificate_names(entry.cert_file):
                by_name.setdefault(name.lower(), context)
        if by_name:
            default.by_name = by_name
            default.sni_callback = _choose
        return default

    def _context(self, cert_file: str, key_file: str) -> _Inner:
        config = self._config
        context = _Inner(ssl.PROTOCOL_TLS_SERVER)
        context.sslobject_class = _Handshake
        context.minimum_version = min_version(config.min_version)
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        context.set_ciphers(cipher_string(config.cipher_suites))
        context.load_cert_chain(cert_file, key_file)
        context.set_alpn_protocols(self._alpn)
        curves = curve_names(config.curve_preferences)
        if curves and not set_groups(context, curves):
            context.set_ecdh_curve("prime256v1" if curves[0] == "P-256" else curves[0])
        for file in config.client_ca_files:
            # Also in a context chosen by name: it brings its own list of acceptable authorities.
            context.load_verify_locations(file)
        if config.client_ca_files:
            context.kept = request_any_certificate(context)
        return context


class _Handshake(ssl.SSLObject):
    """A connection whose failed handshake is explained to the client.

    asyncio drops the connection on an error and with it what OpenSSL had to say. Wanting to read makes it send that
    first; the client leaves by itself, or the handshake's time runs out.
    """

    outgoing: ssl.MemoryBIO
    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self._failure = error
            if error.reason == "HTTP_REQUEST":
                self.outgoing.write(_NOT_TLS)
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "the reason is to be sent") from error


class _Inner(ssl.SSLContext):
    """A context and what must live as long as it does."""

    kept: Any = None
    by_name: dict[str, ssl.SSLContext] | None = None


class _Outer(ssl.SSLContext):
    """The context that asyncio holds: every connection is wrapped by the one in force when it came."""

    current: _Inner

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        connection = self.current.wrap_bio(incoming, outgoing, *args, **options)
        assert isinstance(connection, _Handshake)
        connection.outgoing = outgoing
        return connection


def _choose(connection: ssl.SSLObject, name: str | None, default: ssl.SSLContext) -> None:
    """Called in the handshake: exact name first, then the wildcard of its parent domain, then the default."""
    by_name = getattr(default, "by_name", None)
    if not name or not by_name:
        return
    name = name.lower().rstrip(".")
    chosen = by_name.get(name) or by_name.get("*." + name.partition(".")[2])
    if chosen is not None:
        connection.context = chosen


def certificate_names(cert_file: str) -> list[str]:
    """The names that a certificate is for: its common name, DNS names and addresses."""
    from cryptography import x509  # only for SNI entries without patterns
    from cryptography.x509.oid import NameOID

    with open(cert_file, "rb") as file:
        certificate = x509.load_pem_x509_certificates(file.read())[0]
    names = [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return names
    names += alternative.get_values_for_type(x509.DNSName)
    names += [str(address) for address in alternative.get_values_for_type(x509.IPAddress)]
    return names


def _stamps(files: Sequence[str]) -> list[tuple[int, int, int] | None]:
    stamps: list[tuple[int, int, int] | None] = []
    for name in files:
        try:
            status = os.stat(name)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return stamps


def _contents(files: Sequence[str]) -> list[bytes]:
    contents = []
    for name in files:
        with open(name, "rb") as file:
            contents.append(file.read())
    return contents
