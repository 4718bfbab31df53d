"""The work queue: one worker per key, again when asked meanwhile, again later when it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kapi.api.errors import ServiceUnavailable
from kapi.controllers.work_queue import WorkQueue


async def run_until(queue: WorkQueue, done: asyncio.Event) -> None:
    running = asyncio.create_task(queue.run())
    try:
        async with asyncio.timeout(30):
            await done.wait()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def work(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    asyncio.run(main())


def test_a_key_is_never_worked_on_by_two_and_again_when_added_meanwhile() -> None:
    async def test() -> None:
        busy, seen, done = 0, [], asyncio.Event()

        async def reconcile(key: str) -> None:
            nonlocal busy
            busy += 1
            assert busy == 1
            seen.append(key)
            if len(seen) == 1:
                queue.add("a")
                queue.add("a")
            await asyncio.sleep(0)
            busy -= 1
            if len(seen) == 2:
                done.set()

        queue = WorkQueue("test", reconcile)
        queue.add("a")
        queue.add("a")
        await run_until(queue, done)
        assert seen == ["a", "a"]

    work(test)


def test_different_keys_are_worked_on_together_by_as_many_workers_as_there_are() -> None:
    async def test() -> None:
        together, most, left, done = 0, 0, set("abcdef"), asyncio.Event()

        async def reconcile(key: str) -> None:
            nonlocal together, most
            together += 1
            most = max(most, together)
            await asyncio.sleep(0)
            together -= 1
            left.discard(key)
            if not left:
                done.set()

        queue = WorkQueue("test", reconcile, workers=3)
        for key in "abcdef":
            queue.add(key)
        await run_until(queue, done)
        assert most == 3

    work(test)


def test_what_fails_is_tried_again_and_keeps_nobody_else_waiting() -> None:
    async def test() -> None:
        seen: list[str] = []
        done = asyncio.Event()

        async def reconcile(key: str) -> None:
            seen.append(key)
            if key == "bad" and seen.count("bad") < 3:
                raise ServiceUnavailable("not now")
            if seen.count("bad") == 3:
                done.set()

        queue = WorkQueue("test", reconcile, workers=1)
        queue.add("bad")
        queue.add("good")
        await run_until(queue, done)
        assert seen == ["bad", "good", "bad", "bad"]

    work(test)


def test_a_fault_of_the_controller_is_logged_and_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        seen: list[str] = []
        done = asyncio.Event()

        async def reconcile(key: str) -> None:
            seen.append(key)
            if len(seen) == 1:
                raise KeyError("spec")
            done.set()

        queue = WorkQueue("test", reconcile)
        queue.add("a")
        await run_until(queue, done)
        assert seen == ["a", "a"]

    work(test)
    assert '"controller_panic" controller="test" key="a"' in capsys.readouterr().err


def test_of_several_times_for_a_key_the_earliest_counts() -> None:
    async def test() -> None:
        seen: list[str] = []
        done = asyncio.Event()

        async def reconcile(key: str) -> None:
            seen.append(key)
            done.set()

        queue = WorkQueue("test", reconcile)
        queue.add_after("a", 3600)
        queue.add_after("a", 0)
        queue.add_after("a", 3600)
        await run_until(queue, done)
        assert seen == ["a"]

    work(test)
