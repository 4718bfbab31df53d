"""Salsa20, its core HSalsa20 and XSalsa20, many blocks at a time.

A word of all blocks is one large integer with a lane of 64 bits per block: an addition, a rotation or an exclusive or
is then a handful of operations on integers, whatever the number of blocks. A lane's upper half takes what overflows.
"""

from __future__ import annotations

import sys
from array import array
from functools import lru_cache
from struct import pack, unpack

BLOCK = 64
_LANES = 1024  # blocks at a time: sixteen words of 8 KiB stay near the processor
_LANE_BYTES = 8
_SIGMA = unpack("<4I", b"expand 32-byte k")
_WORD = 0xFFFFFFFF
# The four quarter rounds over columns, then those over rows: a double round.
_QUARTERS = (
    (0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
    (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14),
)  # fmt: skip
_STEPS = tuple(
    step
    for a, b, c, d in _QUARTERS
    for step in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18))
)  # fmt: skip


def hsalsa20(key: bytes, nonce: bytes) -> bytes:
    """A key derived from a key of 32 bytes and 16 bytes of nonce."""
    words = _rounds(_state(key, unpack("<4I", nonce)), _WORD)
    return pack("<8I", *(words[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))


def xsalsa20_stream(key: bytes, nonce: bytes, length: int) -> bytes:
    """So many bytes of key stream, for a nonce of 24 bytes."""
    derived, rest = hsalsa20(key, nonce[:16]), unpack("<2I", nonce[16:])
    blocks = -(-length // BLOCK)
    pieces = [_blocks(derived, rest, first, min(_LANES, blocks - first)) for first in range(0, blocks, _LANES)]
    return b"".join(pieces)[:length]


def _state(key: bytes, nonce_and_counter: tuple[int, ...]) -> list[int]:
    k = unpack("<8I", key)
    return [_SIGMA[0], *k[:4], _SIGMA[1], *nonce_and_counter, _SIGMA[2], *k[4:], _SIGMA[3]]


def _blocks(key: bytes, nonce: tuple[int, ...], first: int, count: int) -> bytes:
    ones, mask = _lanes(count)
    # A counter of more than 32 bits would be a value of 256 GiB.
    counters = int.from_bytes(array("Q", range(first, first + count)).tobytes(), sys.byteorder)
    start = [word * ones for word in _state(key, (*nonce, 0, 0))]
    start[8] = counters
    words = _rounds(start, mask)
    stream = array("I", bytes(BLOCK * count))
    for i, (word, begun) in enumerate(zip(words, start, strict=True)):
        lanes = array("I")
        lanes.frombytes(((word + begun) & mask).to_bytes(_LANE_BYTES * count, "little"))
        stream[i::16] = lanes[::2]
    return stream.tobytes()


def _rounds(start: list[int], mask: int) -> list[int]:
    words = list(start)
    for _ in range(10):
        for target, one, other, turn in _STEPS:
            total = (words[one] + words[other]) & mask
            words[target] ^= ((total << turn) | (total >> (32 - turn))) & mask
    return words


@lru_cache(maxsize=64)
def _lanes(count: int) -> tuple[int, int]:
    """A one in every lane, and the lower half of every lane."""
    ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * count, "little")
    return ones, ones * _WORD
