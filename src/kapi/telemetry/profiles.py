"""Profiles of the running process: what it does, what waits in it, what memory it holds. Loaded when one is asked for.

They cost while they are taken, and nothing before or after.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import io
import marshal
import os
import pstats
import sys
import threading
import time
import traceback
import tracemalloc
from collections import Counter
from types import FrameType
from typing import Any

import orjson

_SHOWN = 100
_FRAMES = 16
# A trace that would be larger ends early: it is kept in memory.
_MOST_EVENTS = 500_000


class InUse(Exception):
    """Only one profile of this kind can be taken at a time."""


class _Turn:
    """Whoever takes a profile of the loop has it alone."""

    def __init__(self) -> None:
        self._taken = False

    def __enter__(self) -> None:
        if self._taken or sys.getprofile() is not None:
            raise InUse("cpu profiling already in use")
        self._taken = True

    def __exit__(self, *_: object) -> None:
        self._taken = False


class Profiles:
    def __init__(self) -> None:
        self._turn = _Turn()

    async def cpu(self, seconds: float, *, readable: bool) -> bytes:
        """Where the loop spends its time: for `pstats` to load, or as text. Raises InUse."""
        with self._turn:
            profile = cProfile.Profile()
            profile.enable()
            try:
                await asyncio.sleep(seconds)
            finally:
                profile.disable()
        if not readable:
            profile.create_stats()
            return marshal.dumps(profile.stats)
        out = io.StringIO()
        pstats.Stats(profile, stream=out).sort_stats("cumulative").print_stats(_SHOWN)
        return out.getvalue().encode()

    async def trace(self, seconds: float) -> bytes:
        """Every call that the loop makes, as Chrome's and Perfetto's trace viewers load it. Raises InUse."""
        with self._turn:
            events: list[dict[str, Any]] = []
            began, process, thread = time.perf_counter(), os.getpid(), threading.get_native_id()

            def record(frame: FrameType, event: str, _: Any) -> None:
                if event in ("call", "return") and len(events) < _MOST_EVENTS:
                    code = frame.f_code
                    events.append(
                        {
                            "name": code.co_qualname if hasattr(code, "co_qualname") else code.co_name,
                            "cat": frame.f_globals.get("__name__", ""),
                            "ph": "B" if event == "call" else "E",
                            "ts": (time.perf_counter() - began) * 1e6,
                            "pid": process,
                            "tid": thread,
                        }
                    )

            sys.setprofile(record)
            try:
                await asyncio.sleep(seconds)
            finally:
                sys.setprofile(None)
        return orjson.dumps({"traceEvents": events})

    def tasks(self) -> str:
        """What goroutines are in Go: tasks, and the threads beside the loop, with where each is."""
        out = io.StringIO()
        found = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
        out.write(f"goroutine profile: total {len(found) + threading.active_count()}\n")
        for task in found:
            out.write(f"\ntask {task.get_name()}:\n")
            out.writelines(f"\t{f.f_code.co_filename}:{f.f_lineno} {f.f_code.co_name}\n" for f in task.get_stack())
        return out.getvalue() + self.threads()

    def threads(self) -> str:
        out = io.StringIO()
        frames = sys._current_frames()
        for thread in threading.enumerate():
            out.write(f"\nthread {thread.name}:\n")
            frame = frames.get(thread.ident or 0)
            if frame is not None:
                out.writelines(
                    f"\t{at.filename}:{at.lineno} {at.name}\n" for at in reversed(traceback.extract_stack(frame))
                )
        return out.getvalue()

    async def heap(self, seconds: float) -> str:
        """What was allocated in these seconds and is still held; without any, the live objects by type."""
        if not seconds and not tracemalloc.is_tracing():
            counts = Counter(type(each).__qualname__ for each in gc.get_objects())
            lines = [f"{count:10d} {name}" for name, count in counts.most_common(_SHOWN)]
            head = "live objects by type; ?seconds=N tells where memory is allocated in that time"
            return "\n".join((head, *lines)) + "\n"
        begun = not tracemalloc.is_tracing()
        if begun:
            tracemalloc.start(_FRAMES)
        try:
            await asyncio.sleep(seconds)
            snapshot = tracemalloc.take_snapshot()
        finally:
            if begun:
                tracemalloc.stop()
        held, most = snapshot.statistics("lineno"), snapshot.statistics("lineno")[:_SHOWN]
        total = f"heap profile: {sum(s.count for s in held)}: {sum(s.size for s in held)} bytes"
        return "\n".join((total, *(f"{s.size:12d} bytes {s.count:8d} blocks {s.traceback}" for s in most))) + "\n"
