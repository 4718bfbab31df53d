"""What can go wrong for a person at the command line: one line that says what, one that says what to do next."""

from __future__ import annotations

import errno

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_RUNNING = 3


class Problem(Exception):
    """An error that has been understood; everything else is a bug and shows its traceback."""

    def __init__(self, what: str, next_step: str = "", *, code: int = EXIT_FAILED) -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step
        self.code = code


def explain(error: Exception) -> Problem | None:
    """The problem behind an error of the layers below, or None when nobody foresaw it."""
    if isinstance(error, Problem):
        return error

    # Imported here: this is the way out, and the way in must not pay for it.
    from kapi.app.audit import AuditError
    from kapi.audit.policy_file import PolicyError
    from kapi.authn.ca_bundle import CABundleError
    from kapi.authn.token_file import TokenFileError
    from kapi.authz.abac import PolicyFileError
    from kapi.codec.configuration import ConfigurationError
    from kapi.proxy.kubeconfig import KubeconfigError
    from kapi.storage.kv import StorageError
    from kapi.wire.pki import CertificateError

    if isinstance(error, CertificateError):
        return Problem(
            str(error), "Check the file's owner and mode, or start with another --data-dir to get new certificates."
        )
    # Their own words say what to do.
    known = (
        *(StorageError, CABundleError, TokenFileError, PolicyFileError, KubeconfigError, ConfigurationError),
        *(AuditError, PolicyError),
    )
    if isinstance(error, known):
        return Problem(str(error))
    if isinstance(error, OSError):
        return _explain_os(error)
    return None


def _explain_os(error: OSError) -> Problem:
    where = f" {error.filename}" if error.filename else ""
    said = f"{error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        return Problem(f"cannot listen on{where}: the port is taken", "Choose another with --port.")
    if error.errno == errno.EADDRNOTAVAIL:
        return Problem(
            f"cannot listen on{where}: not an address of this machine", "Choose another with --bind-address."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Problem(f"cannot use{where}: {said}", "Check its owner and mode, or choose another with --data-dir.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem(f"no space left for{where}: {said}", "Free some space on that disk, then start again.")
    return Problem(f"{said}{':' if where else ''}{where}")
