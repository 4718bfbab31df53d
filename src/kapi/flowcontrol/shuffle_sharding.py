"""Shuffle sharding: every flow has a hand of a few queues, so that two flows rarely share all of theirs."""

from __future__ import annotations

from hashlib import sha256


def flow_hash(schema: str, distinguisher: str) -> int:
    """As upstream: the same flow is dealt the same hand by every server."""
    digest = sha256(f"{schema}\0{distinguisher}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def deal(entropy: int, deck: int, hand: int) -> tuple[int, ...]:
    """`hand` different numbers below `deck`, drawn by the entropy."""
    cards: list[int] = []
    for left in range(deck, deck - hand, -1):
        entropy, drawn = divmod(entropy, left)
        cards.append(drawn)
    dealt: list[int] = []
    for position, drawn in enumerate(cards):
        # What is drawn numbers the cards that were left then: step over those that were gone.
        for earlier in reversed(cards[:position]):
            if drawn >= earlier:
                drawn += 1
        dealt.append(drawn)
    return tuple(dealt)
