"""What was acknowledged is there: after kill -9, on a full disk, next to a backup."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kapi.storage.kv import NoSpace, Unavailable
from kapi.storage.sqlite import SQLiteKV, backup, check

WRITERS = """
import asyncio, json, os, sys
from kapi.storage.sqlite import SQLiteKV

async def write(kv, worker):
    held = {}
    for n in range(10**9):
        key = f"/registry/a/{worker}-{os.getpid()}-{n % 7}"
        if key in held and n % 5 == 0:
            revision, _ = await kv.delete(key, held.pop(key))
            value = None
        else:
            value = f"{worker}/{n}/" + "x" * 1000
            if key in held:
                revision = await kv.update(key, value.encode(), held[key])
            else:
                revision = await kv.create(key, value.encode())
            held[key] = revision
        os.write(1, (json.dumps([key, revision, value]) + "\\n").encode())

async def main():
    kv = SQLiteKV(sys.argv[1])
    await kv.start()
    os.write(1, b"%d\\n" % await kv.revision())
    async with asyncio.TaskGroup() as group:
        for worker in range(16):
            group.create_task(write(kv, worker))
        if len(sys.argv) > 2:
            while True:
                await asyncio.sleep(0.02)
                await kv.compact(await kv.revision())

asyncio.run(main())
"""


def kill_after(acknowledged: int, path: Path, *options: str) -> tuple[int, list[tuple[str, int, str | None]]]:
    """The revision it started at, and every write that was acknowledged before the kill."""
    command = [sys.executable, "-c", WRITERS, str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        started = int(process.stdout.readline())
        lines = [process.stdout.readline() for _ in range(acknowledged)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().split(b"\n")
    return started, [tuple(json.loads(line)) for line in lines if line.endswith((b"]", b"]\n"))]


@pytest.mark.parametrize("options", [(), ("compact",)], ids=["writing", "writing and compacting"])
def test_every_acknowledged_write_survives_kill_9(tmp_path, options):
    path = tmp_path / "kv.db"
    newest: dict[str, tuple[int, str | None]] = {}

    async def verify() -> None:
        kv = SQLiteKV(path)
        await kv.start()
        assert await kv.revision() >= max(revision for revision, _ in newest.values())
        unacknowledged = []
        for key, (revision, value) in newest.items():
            found, _ = await kv.get(key)
            if (found and found.value) == (value and value.encode()):
                assert found is None or found.revision == revision
            else:
                assert found is None or found.revision > revision
                unacknowledged.append(key.rpartition("-")[0])
        # The kill cut off at most the last acknowledgement of each writer.
        assert len(unacknowledged) == len(set(unacknowledged))
        await kv.close()

    for round_ in range(4):
        started, writes = kill_after(200 + 150 * round_, path, *options)
        assert started >= max((revision for revision, _ in newest.values()), default=0)
        for key, revision, value in sorted(writes, key=lambda write: write[1]):
            newest[key] = (revision, value)
        assert check(path) == []
        asyncio.run(verify())


def test_a_write_beyond_the_quota_is_no_space_and_reads_go_on_and_space_makes_it_recover(tmp_path):
    async def scenario():
        kv = SQLiteKV(tmp_path / "kv.db", quota_bytes=1 << 20)
        await kv.start()
        written = {}
        with pytest.raises(NoSpace, match="full"):
            for i in range(1000):
                key = f"/registry/a/{i:04}"
                written[key] = await kv.create(key, b"x" * 8000)
                written[key] = await kv.update(key, b"y" * 8000, written[key])
        assert 20 < len(written) < 70
        page = await kv.range("/registry/a/")
        assert {item.key: item.revision for item in page.items} == written
        last = max(written.values())
        assert await kv.revision() == last
        results = await asyncio.gather(
            *(kv.create(f"/registry/b/{i}", b"x" * 8000) for i in range(40)), return_exceptions=True
        )
        assert {type(result) for result in results} == {NoSpace}
        await kv.compact(last)
        await purged(kv)
        assert await kv.create("/registry/b/after", b"x" * 8000) == last + 1
        await kv.close()
        assert check(tmp_path / "kv.db") == []

    asyncio.run(scenario())


async def purged(kv: SQLiteKV) -> None:
    async with asyncio.timeout(30):
        while kv.metrics()["compaction_lag_revisions"]:
            await asyncio.sleep(0)


FULL_DISK = """
import asyncio, resource, sys
from kapi.storage.kv import NoSpace
from kapi.storage.sqlite import SQLiteKV

async def main():
    kv = SQLiteKV(sys.argv[1])
    await kv.start()
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
    written, refused = [], 0
    for i in range(1000):
        try:
            await kv.create(f"/registry/a/{i:04}", b"x" * 8000)
            written.append(i)
        except NoSpace:
            refused += 1
            if refused == 3:
                break
    assert refused == 3, refused
    for i in written:
        assert (await kv.get(f"/registry/a/{i:04}"))[0] is not None, i
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await kv.create("/registry/a/after", b"")
    print(len(written))
    await kv.close()

asyncio.run(main())
"""


def test_a_disk_that_takes_no_more_loses_nothing_acknowledged_and_recovers(tmp_path):
    path = tmp_path / "kv.db"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert check(path) == []

    async def verify():
        kv = SQLiteKV(path)
        await kv.start()
        assert await kv.count("/registry/a/") == int(done.stdout) + 1
        await kv.close()

    asyncio.run(verify())


def test_a_backup_taken_while_the_server_writes_is_whole_and_of_one_moment(tmp_path):
    path, target = tmp_path / "kv.db", tmp_path / "copy.db"
    command = [sys.executable, "-c", WRITERS, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        before = 0
        for line in (process.stdout.readline() for _ in range(500)):
            before = max(before, json.loads(line)[1] if line.startswith(b"[") else 0)
        drain = threading.Thread(target=process.stdout.read)
        drain.start()
        backup(path, target)
        assert check(path) == []
        assert process.poll() is None
        process.kill()
        drain.join()
    assert check(target) == []
    assert oct(os.stat(target).st_mode & 0o777) == "0o600"
    assert not (tmp_path / "copy.db.partial").exists()

    async def verify():
        kv = SQLiteKV(target)
        await kv.start()
        assert await kv.revision() >= before
        await kv.create("/registry/b/after", b"")
        await kv.close()

    asyncio.run(verify())


def test_a_backup_never_overwrites_and_says_what_is_missing(tmp_path):
    (tmp_path / "there").write_text("precious")
    with pytest.raises(Unavailable, match="there already"):
        backup(tmp_path / "kv.db", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "precious"
    with pytest.raises(Unavailable, match="no such file"):
        backup(tmp_path / "kv.db", tmp_path / "new")
    assert not (tmp_path / "new").exists()
