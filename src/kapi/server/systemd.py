"""systemd: telling the service manager that the server is ready, or stops."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from kapi.telemetry.log import log

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """False when nobody wants to know."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect(address)
            channel.sendall(state.encode())
    except OSError as error:
        log.error("systemd_notify_failed", state=state, reason=str(error))
        return False
    return True
