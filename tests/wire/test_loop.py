"""The process around the listener: its event loop and its allocator."""

from __future__ import annotations

import asyncio
import platform
import sys

import pytest

from kapi.wire.loop import new_event_loop, run
from kapi.wire.memory import keep_freed_memory


def test_uvloop_is_used_where_it_is_installed() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def kind() -> type[asyncio.AbstractEventLoop]:
        return type(asyncio.get_running_loop())

    assert issubclass(run(kind()), uvloop.Loop)


def test_asyncio_serves_where_uvloop_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    try:
        assert type(loop).__module__.startswith("asyncio")
    finally:
        loop.close()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_glibc_takes_the_thresholds() -> None:
    assert keep_freed_memory()
