"""Recorded answers of a real kube-apiserver, replayed: the share that this server answers alike.

The recordings are not part of the project: without them beside it, this is skipped.
Two servers share the files, since a server takes one replay at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("KAPI_RECORDINGS", ROOT.parent / "shared"))
TOOL = SHARED / "tools" / "wire.py"
SHARES = {"semantics": 0.99, "resources": 0.99}

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="needs recordings beside the project")


@pytest.fixture(scope="module")
def recordings() -> ModuleType:
    """What `make wire` runs."""
    spec = spec_from_file_location("recordings", ROOT / "tools" / "recordings.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def servers(recordings: ModuleType) -> Iterator[list[str]]:
    with ExitStack() as stack:
        yield [stack.enter_context(recordings.server([])) for _ in range(2)]


def patience(file: Path) -> float:
    """About how many seconds a file takes: those that watch wait for what does not come."""
    steps = [item["step"] for item in json.loads(file.read_text())]
    return sum(float(step.get("watch", 0)) + float(step.get("wait", 0)) + 0.01 for step in steps)


def split(files: list[Path], count: int) -> list[list[Path]]:
    """In as many parts that take about as long, each in the order of the whole."""
    parts: list[list[Path]] = [[] for _ in range(count)]
    seconds = [0.0] * count
    for file in sorted(files, key=patience, reverse=True):
        part = seconds.index(min(seconds))
        parts[part].append(file)
        seconds[part] += patience(file)
    return [[file for file in files if file in part] for part in parts]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("folder", SHARES)
def test_most_answers_are_those_of_a_real_server(recordings: ModuleType, servers: list[str], folder: str) -> None:
    files = sorted((SHARED / "wire" / folder).glob("*.json"), key=recordings.order)
    assert files

    def run(url: str, part: list[Path]) -> dict[str, tuple[int, int]]:
        replay = partial(recordings.replay, TOOL, url=url, verbose=False)
        return {file.name: replay(file) for file in part}

    with ThreadPoolExecutor(len(servers)) as pool:
        halves = pool.map(run, servers, split(files, len(servers)))
    counts = {name: count for half in halves for name, count in half.items()}
    right, wrong = (sum(count[index] for count in counts.values()) for index in (0, 1))
    failed = {name: count[1] for name, count in sorted(counts.items()) if count[1]}
    assert right >= SHARES[folder] * (right + wrong), f"{right} of {right + wrong}; failed: {failed}"
