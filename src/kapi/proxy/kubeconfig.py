"""Kubeconfig files, as they tell this server how to reach others.

A file leads to one server, by its current context; or it names users after the servers that they are for.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kapi.wire.client import Server, client_tls

# Credentials that a program or a plugin would have to fetch.
_UNSUPPORTED = ("exec", "auth-provider")


class KubeconfigError(Exception):
    """A kubeconfig file that cannot be read or does not say enough."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who this server is to another one."""

    headers: tuple[tuple[bytes, bytes], ...] = ()
    certificate: bytes = b""  # PEM, with its key
    key: bytes = b""

    def tls(self, ca: bytes = b"", *, insecure: bool = False) -> ssl.SSLContext:
        """Raises ssl.SSLError."""
        if not self.certificate:
            return client_tls(ca, insecure=insecure)
        import tempfile

        # OpenSSL wants files; they exist only while the context is being made.
        with tempfile.TemporaryDirectory() as scratch:
            files = (os.path.join(scratch, "client.crt"), os.path.join(scratch, "client.key"))
            for file, data in zip(files, (self.certificate, self.key), strict=True):
                Path(file).write_bytes(data)
            return client_tls(ca, insecure=insecure, certificate=files)


NOBODY = Credentials()


def load_server(path: Path) -> Server:
    """Where the file's current context leads. Raises KubeconfigError."""
    content = _content(path)
    try:
        return _server(content, path.parent)
    except (KubeconfigError, OSError, ssl.SSLError, binascii.Error, ValueError) as error:
        raise KubeconfigError(f"{path}: {error}") from None


def load_users(path: Path) -> Callable[[str], Credentials]:
    """Who to be to a server, by its host and port: each user is named after those it is for. Raises KubeconfigError."""
    users = _named(_content(path), "users", "user")
    try:
        known = {name: _credentials(user, path.parent) for name, user in users.items()}
    except (KubeconfigError, OSError, binascii.Error, ValueError) as error:
        raise KubeconfigError(f"{path}: {error}") from None
    return lambda target: _user_for(target, known)


def _user_for(target: str, known: Mapping[str, Credentials]) -> Credentials:
    """As upstream: by the exact name, by `*.` before the rest of it, the same without port 443, or for all."""
    for name in (target, target.removesuffix(":443")):
        steps = name.split(".")
        for pattern in (name, *("*." + ".".join(steps[i:]) for i in range(1, len(steps)))):
            if pattern in known:
                return known[pattern]
    return known.get("*", NOBODY)


def _content(path: Path) -> dict[str, Any]:
    import yaml  # only where there is such a file

    try:
        content = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise KubeconfigError(f"cannot read {path}: {error}") from None
    if not isinstance(content, dict):
        raise KubeconfigError(f"{path}: not a kubeconfig file")
    return content


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
    url = str(cluster.get("server") or "").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise KubeconfigError(f"invalid server: {url!r} is not an http or https URL")
    credentials = _credentials(user, folder)
    ca = _bytes_of(cluster, "certificate-authority", folder)
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    return Server(
        url=url,
        tls=credentials.tls(ca, insecure=insecure) if parts.scheme == "https" else None,
        server_name=str(cluster.get("tls-server-name") or ""),
        headers=credentials.headers,
    )


def _named(content: dict[str, Any], plural: str, singular: str) -> dict[str, dict[str, Any]]:
    return {entry.get("name", ""): entry.get(singular) or {} for entry in content.get(plural) or ()}


def _bytes_of(section: dict[str, Any], name: str, folder: Path) -> bytes:
    """As clientcmd: the data wins over the file."""
    if data := section.get(f"{name}-data"):
        return base64.b64decode(str(data), validate=True)
    if file := section.get(name):
        return (folder / str(file)).read_bytes()
    return b""


def _credentials(user: dict[str, Any], folder: Path) -> Credentials:
    for name in _UNSUPPORTED:
        if user.get(name):
            raise KubeconfigError(f"users of kind {name!r} are not supported; use a token or a client certificate")
    certificate, key = (_bytes_of(user, name, folder) for name in ("client-certificate", "client-key"))
    if bool(certificate) != bool(key):
        raise KubeconfigError("a client certificate needs its key, and a key its certificate")
    return Credentials(_authorization(user, folder), certificate, key)


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
