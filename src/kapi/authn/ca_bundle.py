"""A CA bundle in a file, read again when the file changes. What was verified against it holds for one generation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kapi.api.clock import Clock
from kapi.telemetry.log import log

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

# Looking at the file on every request would cost a system call; a second is soon enough.
CHECK_EVERY = 1.0


class CABundleError(Exception):
    """The bundle cannot be used; the message says why."""


class CABundle:
    """`generation` grows with each change of the file's certificates."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.generation = 1
        self._monotonic = clock.monotonic
        self._checked = self._monotonic()
        self._stamp = _stamp(path)
        self._content, self._certificates = _read(path)

    def certificates(self) -> list[Certificate]:
        self.refresh()
        return self._certificates

    def refresh(self) -> int:
        """The generation, after reading the file again when it changed; a bad file leaves the old bundle in place."""
        now = self._monotonic()
        if now - self._checked < CHECK_EVERY:
            return self.generation
        self._checked = now
        try:
            stamp = _stamp(self.path)
            if stamp != self._stamp:
                content, certificates = _read(self.path)
                self._stamp = stamp
                if content != self._content:
                    self._content, self._certificates = content, certificates
                    self.generation += 1
                    log.info("ca_bundle_reloaded", path=str(self.path), certificates=len(certificates))
        except CABundleError as error:
            log.error("ca_bundle_not_reloaded", path=str(self.path), reason=str(error))
        return self.generation


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise CABundleError(f"error reading {path}: {error.strerror or error}") from error
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> tuple[bytes, list[Certificate]]:
    from cryptography import x509  # slow to import, and many servers have no client CA

    try:
        content = path.read_bytes()
        certificates = x509.load_pem_x509_certificates(content)
    except OSError as error:
        raise CABundleError(f"error reading {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise CABundleError(f"data does not contain any valid RSA or ECDSA certificates: {path}: {error}") from error
    return content, certificates
