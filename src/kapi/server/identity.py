"""What this server calls itself among several of one cluster, and to other servers."""

from __future__ import annotations

import socket
from base64 import b32encode
from hashlib import sha256

from kapi.server.version import version_info


def api_server_id() -> str:
    """As upstream: by the machine's name, which only its hash tells."""
    digest = sha256(socket.gethostname().encode()).digest()[:16]
    return "apiserver-" + b32encode(digest).decode().rstrip("=").lower()


def user_agent() -> bytes:
    """As client-go's default: program, version, platform."""
    info = version_info()
    return (
        f"kube-apiserver/{info['gitVersion']} ({info['platform']}) kubernetes/{info['gitCommit'] or '$Format'}".encode()
    )
