"""The allocator: keep the memory of large bodies instead of giving it back to the kernel after each one."""

from __future__ import annotations

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_MIB = 1 << 20


def keep_freed_memory(limit: int = 64 * _MIB) -> bool:
    """Have glibc keep up to `limit` freed bytes; False where the C library is another one.

    With the defaults a 20 MB answer costs thousands of page faults, each time anew.
    """
    import ctypes  # only here: most of its cost is the import

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
    mallopt.restype = ctypes.c_int
    # 32 MiB is the most that glibc accepts as mmap threshold.
    return bool(
        mallopt(_M_MMAP_THRESHOLD, min(limit, 32 * _MIB))
        and mallopt(_M_TRIM_THRESHOLD, limit)
        and mallopt(_M_TOP_PAD, _MIB)
    )
