"""Kubeconfig files, as they tell how to reach a webhook: one cluster and one user, by the current context."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from kapi.wire.client import Server, client_tls

# Credentials that a program or a plugin would have to fetch.
_UNSUPPORTED = ("exec", "auth-provider")


class KubeconfigError(Exception):
    """A kubeconfig file that cannot be read or does not say enough."""


def load_server(path: Path) -> Server:
    """Where the file's current context leads. Raises KubeconfigError."""
    try:
        content = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise KubeconfigError(f"cannot read {path}: {error}") from None
    if not isinstance(content, dict):
        raise KubeconfigError(f"{path}: not a kubeconfig file")
    try:
        return _server(content, path.parent)
    except (KubeconfigError, OSError, ssl.SSLError, binascii.Error, ValueError) as error:
        raise KubeconfigError(f"{path}: {error}") from None


def server_of(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> Server:
    """Files are named relative to the folder."""
    url = str(cluster.get("server") or "").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise KubeconfigError(f"invalid server: {url!r} is not an http or https URL")
    for name in _UNSUPPORTED:
        if user.get(name):
            raise KubeconfigError(f"users of kind {name!r} are not supported; use a token or a client certificate")
    tls = None
    if parts.scheme == "https":
        with _client_certificate(user, folder) as certificate:
            tls = client_tls(
                _bytes_of(cluster, "certificate-authority", folder) or b"",
                insecure=bool(cluster.get("insecure-skip-tls-verify")),
                certificate=certificate,
            )
    return Server(
        url=url,
        tls=tls,
        server_name=str(cluster.get("tls-server-name") or ""),
        headers=_authorization(user, folder),
    )


def _server(content: dict[str, Any], folder: Path) -> Server:
    contexts = _named(content, "contexts", "context")
    clusters = _named(content, "clusters", "cluster")
    users = _named(content, "users", "user")
    current = content.get("current-context") or ""
    if current:
        if current not in contexts:
            raise KubeconfigError(f'context "{current}" does not exist')
        context = contexts[current]
        cluster, user = clusters.get(context.get("cluster", "")), users.get(context.get("user", ""), {})
    else:
        # As clientcmd: without a context there is only one choice, or none.
        cluster = next(iter(clusters.values())) if len(clusters) == 1 else None
        user = next(iter(users.values())) if len(users) == 1 else {}
    if cluster is None:
        raise KubeconfigError("invalid configuration: no configuration has been provided")
    return server_of(cluster, user, folder)


def _named(content: dict[str, Any], plural: str, singular: str) -> dict[str, dict[str, Any]]:
    return {entry.get("name", ""): entry.get(singular) or {} for entry in content.get(plural) or ()}


def _bytes_of(section: dict[str, Any], name: str, folder: Path) -> bytes | None:
    """As clientcmd: the data wins over the file."""
    if data := section.get(f"{name}-data"):
        return base64.b64decode(str(data), validate=True)
    if file := section.get(name):
        return (folder / str(file)).read_bytes()
    return None


@contextmanager
def _client_certificate(user: dict[str, Any], folder: Path) -> Iterator[tuple[str, str] | None]:
    """The files of the client's pair; such that came as data exist only while the context is being made."""
    certificate, key = (_bytes_of(user, name, folder) for name in ("client-certificate", "client-key"))
    if certificate is None and key is None:
        yield None
        return
    if certificate is None or key is None:
        raise KubeconfigError("a client certificate needs its key, and a key its certificate")
    with tempfile.TemporaryDirectory() as scratch:
        files = (os.path.join(scratch, "client.crt"), os.path.join(scratch, "client.key"))
        for file, data in zip(files, (certificate, key), strict=True):
            Path(file).write_bytes(data)
        yield files


def _authorization(user: dict[str, Any], folder: Path) -> tuple[tuple[bytes, bytes], ...]:
    token = user.get("token")
    if not token and user.get("tokenFile"):
        token = (folder / user["tokenFile"]).read_text().strip()
    if token:
        return ((b"Authorization", f"Bearer {token}".encode()),)
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        return ((b"Authorization", b"Basic " + base64.b64encode(pair)),)
    return ()
