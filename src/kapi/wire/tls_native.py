"""Two settings of OpenSSL that Python's ssl does not offer, made through the libssl that it is linked to.

Each checks itself first and says false when it could not be made; the caller has a fallback.
"""

from __future__ import annotations

import ssl
from typing import Any

_SSL_VERIFY_PEER = 1
_SSL_CTRL_SET_GROUPS_LIST = 92


def request_any_certificate(context: ssl.SSLContext) -> Any:
    """Ask clients for a certificate and take whichever they give, as Go's RequestClientCert.

    Whether it proves an identity is for authentication to say: a certificate of an unknown CA must become a 401,
    not a broken handshake. Returns what must live as long as the context, or None when it could not be done: then
    unknown CAs end the handshake (CERT_OPTIONAL).
    """
    context.check_hostname = False
    context.verify_mode = ssl.CERT_OPTIONAL
    found = _libssl_and_pointer(context)
    if found is None:
        return None
    import ctypes

    library, pointer = found
    callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    accept = callback_type(_accept)
    set_verify = library.SSL_CTX_set_verify
    set_verify.argtypes = [ctypes.c_void_p, ctypes.c_int, callback_type]
    set_verify.restype = None
    set_verify(pointer, _SSL_VERIFY_PEER, accept)
    return accept


def set_groups(context: ssl.SSLContext, names: tuple[str, ...]) -> bool:
    """Prefer these key-exchange groups, in this order."""
    found = _libssl_and_pointer(context)
    if found is None:
        return False
    import ctypes

    library, pointer = found
    control = library.SSL_CTX_ctrl
    control.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_char_p]
    control.restype = ctypes.c_long
    return bool(control(pointer, _SSL_CTRL_SET_GROUPS_LIST, 0, ":".join(names).encode()) == 1)


def _accept(preverified: int, store: int | None) -> int:
    return 1


def _libssl_and_pointer(context: ssl.SSLContext) -> tuple[Any, int] | None:
    """The library, and its SSL_CTX of this context. The pointer is the first field after the object's header;
    trusted only when the library sees in it what Python just set."""
    try:
        import _ssl
        import ctypes

        library = ctypes.CDLL(_ssl.__file__)
        get_mode = library.SSL_CTX_get_verify_mode
    except (ImportError, OSError, AttributeError):
        return None
    get_mode.argtypes = [ctypes.c_void_p]
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    if not pointer:
        return None
    before = context.verify_mode
    seen = []
    for mode in (ssl.CERT_OPTIONAL, ssl.CERT_NONE):
        context.verify_mode = mode
        seen.append(get_mode(pointer))
    context.verify_mode = before
    return (library, pointer) if seen == [1, 0] else None
