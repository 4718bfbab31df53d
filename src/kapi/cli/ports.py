"""Which port to serve on: the one asked for, or 6443 or the next that is free."""

from __future__ import annotations

import errno
import socket

from kapi.cli.problem import EXIT_USAGE, Problem

PREFERRED = 6443
TRIES = 100


def choose(address: str, wanted: int | None) -> int:
    """A port that was free a moment ago; a Problem when the one asked for is not."""
    if wanted == 0:
        return _any(address)
    if wanted is not None:
        if not _is_free(address, wanted):
            raise Problem(
                f"port {wanted} on {address} is taken",
                f"Choose another with --port, leave it out to get a free one, or see who has it: lsof -i :{wanted}",
            )
        return wanted
    for port in range(PREFERRED, PREFERRED + TRIES):
        if _is_free(address, port):
            return port
    raise Problem(
        f"no port from {PREFERRED} to {PREFERRED + TRIES - 1} is free on {address}", "Choose another with --port."
    )


def _any(address: str) -> int:
    with _socket(address) as probe:
        _bind(probe, address, 0)
        return int(probe.getsockname()[1])


def _is_free(address: str, port: int) -> bool:
    with _socket(address) as probe:
        return _bind(probe, address, port)


def _socket(address: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)


def _bind(probe: socket.socket, address: str, port: int) -> bool:
    """Whether it could be had; a Problem when it cannot be had by anyone here."""
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the listener: lingering connections don't count
    try:
        probe.bind((address, port))
        probe.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        if error.errno == errno.EACCES:
            raise Problem(f"port {port} needs privileges that this user lacks", "Choose one above 1023.") from error
        raise Problem(
            f"cannot listen on {address}: {error.strerror}", "Choose one of this machine's with --bind-address."
        ) from error
    except OverflowError as error:
        raise Problem(f"{port} is not a port", "Ports go from 1 to 65535.", code=EXIT_USAGE) from error
    return True
