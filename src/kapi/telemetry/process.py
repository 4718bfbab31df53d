"""What every process says about itself in its metrics: CPU time, memory, file descriptors, start, build."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from kapi.telemetry.metrics import Computed, Labels, Registry


def register_process_metrics(registry: Registry) -> None:
    """The `process_*` metrics, read when scraped."""
    started = _start_time()
    for name, help, kind, read in (
        ("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", "counter", _cpu_seconds),
        ("process_resident_memory_bytes", "Resident memory size in bytes.", "gauge", _resident_bytes),
        ("process_virtual_memory_bytes", "Virtual memory size in bytes.", "gauge", _virtual_bytes),
        ("process_open_fds", "Number of open file descriptors.", "gauge", _open_files),
        ("process_max_fds", "Maximum number of open file descriptors.", "gauge", _max_files),
        (
            "process_start_time_seconds",
            "Start time of the process since the epoch in seconds.",
            "gauge",
            lambda: started,
        ),
    ):

        def sample(read: object = read) -> Iterable[tuple[Labels, float]]:
            value = read()  # type: ignore[operator]
            return () if value is None else (((), value),)

        registry.register(Computed(name, help, sample, kind=kind))


def register_build_info(registry: Registry, version: Mapping[str, str]) -> None:
    """`kubernetes_build_info`, a constant 1 labelled with what `/version` answers."""
    labels = {
        "build_date": version.get("buildDate", ""),
        "compiler": version.get("compiler", ""),
        "git_commit": version.get("gitCommit", ""),
        "git_tree_state": version.get("gitTreeState", ""),
        "git_version": version.get("gitVersion", ""),
        "go_version": version.get("goVersion", ""),
        "major": version.get("major", ""),
        "minor": version.get("minor", ""),
        "platform": version.get("platform", ""),
    }
    info = registry.gauge("kubernetes_build_info", "What this server was built from; always 1.", tuple(labels))
    info.set(1, tuple(labels.values()))
    python = registry.gauge("python_info", "The Python that runs this server; always 1.", ("implementation", "version"))
    python.set(1, (platform.python_implementation(), platform.python_version()))


def _cpu_seconds() -> float:
    times = os.times()
    return round(times.user + times.system, 2)


def _memory_pages(field: int) -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _resident_bytes() -> float | None:
    resident = _memory_pages(1)
    if resident is not None or sys.platform == "win32":
        return resident
    import resource  # does not exist on Windows

    # Without /proc the peak is the nearest figure; macOS counts it in bytes, others in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _virtual_bytes() -> float | None:
    return _memory_pages(0)


def _open_files() -> float | None:
    for directory in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(directory)) - 1  # the listing itself holds one
        except OSError:
            continue
    return None


def _max_files() -> float | None:
    if sys.platform == "win32":
        return None
    import resource  # does not exist on Windows

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _start_time() -> float:
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration):
        return time.time()
