"""gRPC's and etcd's errors in the storage's own words."""

from __future__ import annotations

import re

import grpc

from kapi.storage.kv import (
    NO_REVISION,
    Compacted,
    FutureRevision,
    LeaseNotFound,
    NoSpace,
    StorageError,
    TooLarge,
    Unavailable,
)


class Denied(StorageError):
    """etcd does not let this client in: its certificate or its roles."""


# etcd has more causes than status codes, so its texts decide. "Too large" has two shapes: etcd's own limit, and
# beyond that gRPC's, which etcd's server or our own side may apply.
_TEXTS: tuple[tuple[str, type[StorageError]], ...] = (
    ("database space exceeded", NoSpace),
    ("request is too large", TooLarge),
    ("message larger than max", TooLarge),
)
_DENIED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_REFUSED = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
)
_UNTRUSTED = "its certificate is not signed by a CA we trust (--etcd-cafile)"
_NOT_ACCEPTED = "it does not accept our client certificate (--etcd-certfile, --etcd-keyfile)"
_REASONS = (
    ("Connection refused", "connection refused"),
    ("CERTIFICATE_VERIFY_FAILED", _UNTRUSTED),
    ("certificate signature failure", _UNTRUSTED),
    ("ALERT_BAD_CERTIFICATE", _NOT_ACCEPTED),
    ("ALERT_UNKNOWN_CA", _NOT_ACCEPTED),
    ("CERTIFICATE_REQUIRED", _NOT_ACCEPTED),
    # With TLS 1.3 the refusal comes after the handshake, and gRPC does not say what it was.
    (
        "TSI_DATA_CORRUPTED",
        "it ended the TLS session: it may want a client certificate (--etcd-certfile, --etcd-keyfile)",
    ),
    ("is not in peer certificate", "its certificate is for another host name"),
    ("Handshake read failed", "it broke off the TLS handshake: if it does not speak TLS, use http://"),
)


def translate(code: grpc.StatusCode, details: str) -> StorageError:
    """What etcd does not say is 0: the revisions in Compacted and FutureRevision, the lease in LeaseNotFound."""
    if "required revision has been compacted" in details:
        return Compacted(NO_REVISION)
    if "required revision is a future revision" in details:
        return FutureRevision(NO_REVISION)
    if "requested lease not found" in details:
        return LeaseNotFound(0)
    for text, kind in _TEXTS:
        if text in details:
            return kind(f"etcd: {details}")
    if code in _DENIED:
        return Denied(f"etcd denies access: {details}; check the client certificate and its roles in etcd")
    if code in _REFUSED:
        return StorageError(f"etcd: {code.name}: {details}")
    return Unavailable(f"etcd: {reason(code, details)}")


def reason(code: grpc.StatusCode, details: str) -> str:
    """Why a connection or a call failed, in a few words."""
    for text, words in _REASONS:
        if text in details:
            return words
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "no answer in time"
    return re.sub(r"^failed to connect to all addresses; last error: (UNKNOWN|UNAVAILABLE): ", "", details) or code.name
