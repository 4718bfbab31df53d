"""Unique identifiers: of objects, and of requests."""

from __future__ import annotations

from random import getrandbits

_VARIANT = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_4 = 0x4000 << 64 | 0x8000 << 48


def new_uid() -> str:
    """A random UUID. `uuid.uuid4` asks the kernel each time, which these need not: nobody relies on guessing none."""
    text = f"{getrandbits(128) & _VARIANT | _VERSION_4:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
