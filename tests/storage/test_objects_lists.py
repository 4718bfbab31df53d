"""Lists: pages of one revision, what remains, exact and minimal revisions, and what compaction does to them."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher import cacher as cacher_module
from kapi.storage.continuation import Continuation, InvalidToken
from kapi.storage.objects import ContinuationExpired, Query

SCOPE = "/registry/configmaps/"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(cacher_module, "CATCH_UP_SECONDS", 0.05)


def names(listing):
    return [entry.key.rpartition("/")[2] for entry in listing.entries]


def next_page(token, **more):
    return Query(scope=SCOPE, continuation=Continuation.decode(token.encode()), **more)


async def fill(shelf, count):
    for i in range(count):
        await shelf.create(f"{i:02}", parity="odd" if i % 2 else "even")


def test_pages_are_of_one_revision_whatever_happens_between_them(play):
    async def scenario(shelf):
        await fill(shelf, 7)
        first = await shelf.objects.list(Query(scope=SCOPE, limit=3))
        assert (names(first), first.remaining) == (["00", "01", "02"], 4)
        await shelf.elsewhere("04", None)
        await shelf.elsewhere("03a", "new")
        await shelf.elsewhere("05", "changed")
        second = await shelf.objects.list(next_page(first.continuation, limit=3))
        assert (names(second), second.remaining, second.revision) == (["03", "04", "05"], 1, first.revision)
        assert second.entries[2].revision <= first.revision
        last = await shelf.objects.list(next_page(second.continuation, limit=3))
        assert (names(last), last.remaining, last.continuation) == (["06"], None, None)
        rest = await shelf.objects.list(next_page(first.continuation))
        assert (names(rest), rest.revision) == (["03", "04", "05", "06"], first.revision)

    play(scenario)


def test_a_page_that_ends_with_the_last_object_is_the_last(play):
    async def scenario(shelf):
        await fill(shelf, 3)
        whole = await shelf.objects.list(Query(scope=SCOPE, limit=3))
        assert (len(whole.entries), whole.continuation, whole.remaining) == (3, None, None)

    play(scenario)


def test_what_remains_is_not_told_with_a_selector(play):
    async def scenario(shelf):
        await fill(shelf, 9)

        def odd(entry):
            return entry.labels["parity"] == "odd"

        first = await shelf.objects.list(Query(scope=SCOPE, limit=3, selects=odd))
        assert (names(first), first.remaining) == (["01", "03", "05"], None)
        await shelf.elsewhere("07", "changed", parity="odd")
        second = await shelf.objects.list(next_page(first.continuation, limit=1, selects=odd))
        assert names(second) == ["07"]
        # One more object follows: that it is not selected is known only when it is looked at.
        last = await shelf.objects.list(next_page(second.continuation, limit=1, selects=odd))
        assert (names(last), last.continuation) == ([], None)

    play(scenario)


def test_a_selector_that_takes_little_from_much_fills_its_page(play):
    async def scenario(shelf):
        for i in range(300):
            await shelf.create(f"{i:03}", rare="yes" if i in (7, 250, 299) else "no")
        await shelf.elsewhere("000", "moves the newest revision past the list's")

        def rare(entry):
            return entry.labels.get("rare") == "yes"

        revision = Revision(await shelf.engine.revision() - 1)
        query = Query(scope=SCOPE, limit=2, selects=rare, revision=revision, exact=True)
        first = await shelf.objects.list(query)
        assert names(first) == ["007", "250"]
        assert names(await shelf.objects.list(next_page(first.continuation, limit=2, selects=rare))) == ["299"]

    play(scenario)


def test_a_selector_over_many_objects_pages_through_all_of_them(in_step):
    async def scenario(shelf):
        for i in range(0, 2500, 500):
            await asyncio.gather(*(shelf.create(f"{j:04}", hundred=str(j % 100)) for j in range(i, i + 500)))

        def picked(entry):
            return entry.labels["hundred"] == "99"

        expected = [f"{i:04}" for i in range(99, 2500, 100)]
        assert names(await shelf.objects.list(Query(scope=SCOPE, selects=picked))) == expected
        found, query = [], Query(scope=SCOPE, selects=picked, limit=10)
        while True:
            page = await shelf.objects.list(query)
            found += names(page)
            if page.continuation is None:
                break
            assert len(page.entries) == 10
            query = next_page(page.continuation, selects=picked, limit=10)
        assert found == expected

    in_step(scenario)


def test_a_token_of_a_compacted_revision_comes_back_as_one_that_goes_on_without_it(play):
    async def scenario(shelf):
        await fill(shelf, 5)
        first = await shelf.objects.list(Query(scope=SCOPE, limit=2))
        await shelf.elsewhere("03", None)
        newest = await shelf.elsewhere("04", "changed")
        await shelf.engine.compact(newest)
        with pytest.raises(ContinuationExpired) as expired:
            await shelf.objects.list(next_page(first.continuation, limit=2))
        token = Continuation.decode(expired.value.token)
        rest = await shelf.objects.list(Query(scope=SCOPE, limit=2, continuation=token))
        assert (names(rest), rest.revision, rest.continuation) == (["02", "04"], newest, None)

    play(scenario)


def test_an_exact_revision_is_that_state_until_it_is_compacted(play, data_of):
    async def scenario(shelf):
        created = await shelf.create("x", "one")
        changed = await shelf.elsewhere("x", "two")
        await shelf.elsewhere("y", "later")
        then = await shelf.objects.list(Query(scope=SCOPE, revision=created.revision, exact=True))
        assert ([data_of(e) for e in then.entries], then.revision) == (["one"], created.revision)
        page = await shelf.objects.list(Query(scope=SCOPE, revision=changed, exact=True, limit=1))
        assert ([data_of(e) for e in page.entries], page.continuation) == (["two"], None)
        await shelf.engine.compact(changed)
        with pytest.raises(kv.Compacted):
            await shelf.objects.list(Query(scope=SCOPE, revision=created.revision, exact=True))

    play(scenario)


@pytest.mark.parametrize("ahead", [1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_a_revision_that_has_not_happened_is_told_from_the_current_one(play, ahead):
    async def scenario(shelf):
        await fill(shelf, 1)
        current = await shelf.engine.revision()
        wanted = Revision(min(current + ahead, (1 << 64) - 1))
        for exact in (True, False):
            with pytest.raises(kv.FutureRevision) as future:
                await shelf.objects.list(Query(scope=SCOPE, revision=wanted, exact=exact))
            assert future.value.current == current
        with pytest.raises(kv.FutureRevision):
            await shelf.objects.get(shelf.key("00"), wanted)

    play(scenario)


def test_a_list_not_older_than_a_revision_is_at_that_or_later(play):
    async def scenario(shelf):
        await fill(shelf, 2)
        revision = await shelf.engine.create("/registry/other/x", b"{}")
        listing = await shelf.objects.list(Query(scope=SCOPE, revision=revision))
        assert (len(listing.entries), listing.revision) == (2, revision)

    play(scenario)


def test_a_list_of_one_key_has_nothing_that_merely_begins_like_it(play, data_of):
    async def scenario(shelf):
        created = await shelf.create("x", "one")
        await shelf.create("x2")
        await shelf.elsewhere("x", "two")
        await shelf.create("x.3")
        one = Query(scope=shelf.key("x"), limit=1)
        now = await shelf.objects.list(one)
        assert ([data_of(e) for e in now.entries], now.continuation) == (["two"], None)
        then = Query(scope=shelf.key("x"), limit=1, revision=created.revision, exact=True)
        assert [data_of(e) for e in (await shelf.objects.list(then)).entries] == ["one"]
        assert (await shelf.objects.list(Query(scope=shelf.key("none")))).entries == []

    play(scenario)


def token(**fields):
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


V1 = "meta.k8s.io/v1"


@pytest.mark.parametrize(
    "bad",
    [
        "%%%",
        "a",
        "e30=",
        token(v="v0", rv=1, start="/x"),
        token(v=V1, rv=0, start="/x"),
        token(v=V1, rv="1", start="/x"),
        token(v=V1, rv=10**30, start="/x"),
        token(v=V1, rv=1.5, start="/x"),
        token(v=V1, rv=1, start=""),
        token(v=V1, rv=1, start=5),
        token(v=V1, rv=1, start="../x"),
        token(v=V1, rv=1, start="/a/../../x"),
        token(v=V1, rv=1, start="//x"),
        token(v=V1, rv=1, start="\ud800"),
        base64.urlsafe_b64encode(b"[" * 30000).decode().rstrip("="),
        base64.urlsafe_b64encode(b"[1]").decode().rstrip("="),
        base64.urlsafe_b64encode(b"\xff\xfe").decode().rstrip("="),
    ],
)
def test_a_token_that_no_server_made_is_refused(bad):
    with pytest.raises(InvalidToken, match=r"^continue key is not valid: "):
        Continuation.decode(bad)


def test_any_negative_revision_in_a_token_means_the_newest_state(play):
    async def scenario(shelf):
        await fill(shelf, 3)
        continuation = Continuation.decode(token(v=V1, rv=-7, start="/a/01"))
        assert names(await shelf.objects.list(Query(scope=SCOPE, continuation=continuation))) == ["01", "02"]

    play(scenario)
