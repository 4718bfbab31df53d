"""Hands of queues: different queues in every hand, every hand as likely as any other."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kapi.flowcontrol.shuffle_sharding import deal, flow_hash


@given(st.integers(0, 2**64 - 1), st.integers(1, 512), st.data())
def test_a_hand_has_different_queues(entropy, deck, data):
    hand = data.draw(st.integers(1, min(deck, 8)))
    dealt = deal(entropy, deck, hand)
    assert len(set(dealt)) == hand
    assert all(0 <= card < deck for card in dealt)


def test_every_hand_is_as_likely():
    assert set(Counter(deal(entropy, 6, 3) for entropy in range(120 * 3)).values()) == {3}


def test_a_flow_is_known_by_schema_and_distinguisher():
    # The first eight bytes of the SHA-256 of the two with a zero byte between, least significant first.
    assert flow_hash("a", "b") == 0xD3B1BC1BAE71B259
    assert len({flow_hash("ab", ""), flow_hash("a", "b"), flow_hash("", "ab")}) == 3
