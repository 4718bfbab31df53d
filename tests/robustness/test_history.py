"""The checker itself: what it accepts, and that it catches each kind of wrong answer."""

from __future__ import annotations

from dataclasses import replace

import pytest


@pytest.fixture
def sound(history):
    """Four writes, of which the answer to one got lost; two watchers (one with a selector), one read, and the end."""
    h = history
    writes = [
        h.Write("a", "1-red", 0, 1.0, 1.1, 11),
        h.Write("b", "2-blue", 0, 1.0, 1.2, 12),
        h.Write("a", "3-blue", 11, 2.0, 2.1, 14),
        h.Write("b", "4-red", 12, 2.0, 2.5, acknowledged=False),
        h.Write("a", None, 14, 3.0, 3.1),
    ]
    reads = [h.Read(1.5, 1.6, 13, {"a": ("1-red", 11), "b": ("2-blue", 12)})]
    every = h.Watched(
        "every",
        [
            h.Listed(10, {}),
            h.Seen("ADDED", "a", "1-red", 11),
            h.Seen("ADDED", "b", "2-blue", 12),
            h.Bookmark(13),
            h.Seen("MODIFIED", "a", "3-blue", 14),
            h.Seen("MODIFIED", "b", "4-red", 15),
            h.Seen("DELETED", "a", "3-blue", 17),
        ],
    )
    red = h.Watched(
        "red",
        [
            h.Listed(11, {"a": ("1-red", 11)}),
            h.Seen("DELETED", "a", "1-red", 14),
            h.Seen("ADDED", "b", "4-red", 15),
        ],
        selects=lambda value: value.endswith("red"),
    )
    log = {
        11: ("a", "1-red"),
        12: ("b", "2-blue"),
        14: ("a", "3-blue"),
        15: ("b", "4-red"),
        17: ("a", None),
    }
    return h.History(writes, reads, [every, red], h.Read(9.0, 9.1, 17, {"b": ("4-red", 15)}), log)


def without(sound, watcher, *revisions):
    steps = sound.watched[watcher].steps
    sound.watched[watcher].steps = [s for s in steps if s.revision not in revisions]
    return sound


def test_a_sound_history_has_no_violation(history, sound):
    assert history.check(sound) == []


def test_a_write_whose_answer_got_lost_may_not_have_happened(history, sound):
    without(without(sound, 0, 15), 1, 15)
    del sound.log[15]
    sound.final = replace(sound.final, state={"b": ("2-blue", 12)})
    assert history.check(sound) == []


def test_a_write_whose_answer_got_lost_is_seen_when_it_did_happen(history, sound):
    assert history.check(without(sound, 0, 15)) == ["every missed 15"]


def test_a_lost_write_is_caught_even_if_everybody_agrees_that_it_never_was(history, sound):
    without(without(sound, 0, 12), 1, 12)
    del sound.log[12]
    sound.reads[0] = replace(sound.reads[0], state={"a": ("1-red", 11)})
    sound.watched[0].steps[3] = history.Seen("ADDED", "b", "4-red", 15)
    assert "the acknowledged write of b at 12 is lost" in history.check(sound)


def test_a_lost_delete_is_caught(history, sound):
    without(sound, 0, 17)
    del sound.log[17]
    sound.final = replace(sound.final, state={"a": ("3-blue", 14), "b": ("4-red", 15)})
    assert history.check(sound) == ["the acknowledged delete of a based on 14 is lost"]


def test_a_write_that_overwrote_another_unseen_is_caught(history, sound):
    sound.writes[2] = replace(sound.writes[2], based_on=9)
    assert history.check(sound) == ["the acknowledged write of a at 14 was based on 9, but 11 lies between"]


def test_a_create_of_what_was_there_is_caught(history, sound):
    sound.writes[2] = replace(sound.writes[2], based_on=0)
    assert history.check(sound) == ["the acknowledged write of a at 14 created what was there"]


def test_a_missed_event_is_caught(history, sound):
    assert history.check(without(sound, 0, 12)) == ["every missed 12"]


def test_a_missed_last_event_is_caught(history, sound):
    assert history.check(without(sound, 1, 15)) == ["red missed 15"]


def test_a_bookmark_that_passes_over_an_event_is_caught(history, sound):
    sound.watched[0].steps.remove(history.Seen("MODIFIED", "a", "3-blue", 14))
    sound.watched[0].steps[3] = history.Bookmark(14)
    assert history.check(sound) == ["every missed 14"]


def test_a_repeated_event_is_caught(history, sound):
    steps = sound.watched[0].steps
    steps.insert(3, steps[2])
    assert history.check(sound) == ["every saw 12 after 12: repeated or out of order"]


def test_events_out_of_order_are_caught(history, sound):
    steps = sound.watched[0].steps
    steps[1], steps[2] = steps[2], steps[1]
    assert "every saw 11 after 12: repeated or out of order" in history.check(sound)


def test_an_event_of_the_wrong_kind_is_caught(history, sound):
    sound.watched[0].steps[4] = history.Seen("ADDED", "a", "3-blue", 14)
    assert history.check(sound) == ["every saw 14 as ADDED a, not as MODIFIED a"]


def test_an_event_with_another_value_than_was_written_is_caught(history, sound):
    sound.watched[0].steps[2] = history.Seen("ADDED", "b", "9-blue", 12)
    assert history.check(sound) == ["every saw 12 with another value: 9-blue"]


def test_an_event_that_never_was_is_caught(history, sound):
    sound.watched[0].steps.insert(4, history.Seen("ADDED", "c", "9-blue", 13))
    del sound.watched[0].steps[3]
    assert history.check(sound) == ["every saw 13, which never was"]


def test_two_writes_of_one_revision_are_caught(history, sound):
    sound.writes.append(history.Write("c", "5-red", 0, 1.0, 2.1, 14))
    violations = history.check(sound)
    assert violations == ["the acknowledged write of c (5-red) at 14 is ('a', '3-blue') in the log"]


def test_a_stale_read_is_caught(history, sound):
    sound.reads.append(history.Read(2.6, 2.7, 13, {"a": ("1-red", 11), "b": ("2-blue", 12)}))
    assert history.check(sound) == ["a read at 13 went back in time: 14 was known"]


def test_a_read_of_a_state_that_never_was_is_caught(history, sound):
    sound.reads[0] = replace(sound.reads[0], state={"b": ("2-blue", 12)})
    assert history.check(sound) == ["the read at 13 shows another state: ['a']"]


def test_a_resource_version_that_does_not_grow_is_caught(history, sound):
    sound.reads[0] = replace(sound.reads[0], revision=20, state={"b": ("4-red", 15)})
    assert "the write of a got 14: 20 was known" in history.check(sound)


def test_a_relist_that_goes_back_is_caught(history, sound):
    sound.watched[1].steps.append(history.Listed(12, {"a": ("1-red", 11)}))
    assert "red listed at 12 after 15" in history.check(sound)


def test_a_list_of_another_state_is_caught(history, sound):
    sound.watched[1].steps[0] = history.Listed(11, {})
    assert history.check(sound) == ["red listed another state than there was at 11"]
