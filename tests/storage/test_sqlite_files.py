"""The data directory: one owner, clear words for a bad file, versions."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from kapi.storage.kv import NoSpace, Unavailable
from kapi.storage.sqlite import Damaged, Locked, SQLiteKV, check
from kapi.storage.sqlite.schema import MIGRATIONS, connect_writer, migrate


def fill(path, keys=2000, size=1000):
    async def scenario():
        kv = SQLiteKV(path)
        await kv.start()
        await asyncio.gather(*(kv.create(f"/registry/a/{i:05}", os.urandom(size)) for i in range(keys)))
        await kv.close()

    asyncio.run(scenario())


def start_error(path, error):
    async def scenario():
        with pytest.raises(error) as raised:
            await SQLiteKV(path).start()
        return str(raised.value)

    return asyncio.run(scenario())


def test_a_second_process_on_the_data_directory_is_told_who_owns_it(tmp_path):
    code = """
import asyncio, sys
from kapi.storage.sqlite import SQLiteKV
async def main():
    kv = SQLiteKV(sys.argv[1])
    await kv.start()
    print("open", flush=True)
    sys.stdin.readline()
    await kv.close()
asyncio.run(main())
"""
    path = tmp_path / "kv.db"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout.readline() == b"open\n"
        message = start_error(path, Locked)
        assert f"data directory {tmp_path} is in use by process {owner.pid}" in message
        assert "--data-dir" in message
        assert check(path) == []
        owner.stdin.write(b"\n")
    fill(path)


def test_an_owner_that_was_killed_leaves_no_lock_behind(tmp_path):
    path = tmp_path / "kv.db"
    code = f"""
import asyncio, os, signal
from kapi.storage.sqlite import SQLiteKV
async def main():
    await SQLiteKV({str(path)!r}).start()
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    fill(path, keys=1)


def test_a_second_engine_in_the_same_process_is_refused_too_and_may_open_later(tmp_path):
    async def scenario():
        first, second = SQLiteKV(tmp_path / "kv.db"), SQLiteKV(tmp_path / "kv.db")
        await first.start()
        with pytest.raises(Locked, match=str(os.getpid())):
            await second.start()
        await first.create("/registry/a/x", b"")
        await first.close()
        await second.start()
        assert await second.count("/registry/a/") == 1
        await second.close()

    asyncio.run(scenario())


def test_the_data_directory_is_made_and_its_files_are_their_owners_alone(tmp_path):
    path = tmp_path / "new" / "data" / "kv.db"

    async def scenario():
        kv = SQLiteKV(path)
        await kv.start()
        await kv.create("/registry/secrets/a/x", b"")
        modes = {file.name: file.stat().st_mode & 0o077 for file in path.parent.iterdir()}
        assert {"kv.db", "kv.db-wal"} <= modes.keys()
        assert set(modes.values()) == {0}
        await kv.close()

    asyncio.run(scenario())


def test_a_file_that_is_no_database_says_so_and_what_to_do(tmp_path):
    path = tmp_path / "kv.db"
    path.write_bytes(b"not a database, but long enough to look at: " * 500)
    message = start_error(path, Damaged)
    assert "kapi db check" in message
    assert "backup" in message
    assert check(path) != []


def test_damage_inside_the_file_is_found_by_check_and_says_what_to_do(tmp_path):
    path = tmp_path / "kv.db"
    fill(path)
    assert check(path) == []
    with open(path, "r+b") as file:
        for page in range(20, 60):
            file.seek(page * 8192)
            file.write(b"\xff" * 4096)
    assert check(path) != []
    assert "kapi db check" in start_error(path, Damaged)


def test_check_finds_a_log_that_contradicts_itself(tmp_path):
    path = tmp_path / "kv.db"

    async def scenario():
        kv = SQLiteKV(path)
        await kv.start()
        for key in ("/registry/a/x", "/registry/a/y"):
            revision = await kv.create(key, b"one")
            revision = await kv.update(key, b"two", revision)
            await kv.update(key, b"three", revision)
        await kv.close()

    asyncio.run(scenario())
    assert check(path) == []
    faults = {
        "DELETE FROM log WHERE rev = 3": "predecessor",
        "UPDATE log SET version = 9 WHERE rev = 2": "version",
        "UPDATE log SET created = 99 WHERE rev = 4": "future",
        "UPDATE log SET lease = 5 WHERE rev = 4": "lease",
        "UPDATE meta SET value = 99 WHERE name = 'compacted'": "compacted at 99",
        "PRAGMA user_version = 7": "schema version 7",
    }
    for i, (damage, word) in enumerate(faults.items()):
        copy = tmp_path / f"copy{i}.db"
        shutil.copy(path, copy)
        connection = sqlite3.connect(copy)
        with connection:
            connection.execute(damage)
        connection.close()
        assert any(word in fault for fault in check(copy)), (damage, check(copy))
    assert check(tmp_path / "none.db") == [f"{tmp_path / 'none.db'}: there is no such file"]


def test_a_newer_schema_is_refused_with_its_version(tmp_path):
    path = tmp_path / "kv.db"
    fill(path, keys=1)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    connection.close()
    message = start_error(path, Unavailable)
    assert f"schema {len(MIGRATIONS) + 1}" in message
    assert "newer" in message


def test_an_older_schema_is_migrated_in_place_all_or_nothing(tmp_path):
    path = str(tmp_path / "kv.db")
    fill(path, keys=3)
    connection = connect_writer(path)
    grown = (*MIGRATIONS, ("CREATE TABLE extra(a)", "INSERT INTO extra SELECT count(*) FROM log"))
    broken = (*grown, ("CREATE TABLE half(a)", "SELECT nonsense FROM nowhere"))
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, path, broken)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name IN ('extra', 'half')").fetchall() == []
    migrate(connection, path, grown)
    assert connection.execute("SELECT a FROM extra").fetchall() == [(3,)]
    assert connection.execute("PRAGMA user_version").fetchall() == [(len(grown),)]
    migrate(connection, path, grown)
    connection.close()


@contextmanager
def as_ordinary_user():
    """root may write everywhere: be somebody else for a moment."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_directory_that_cannot_be_written_says_so():
    directory = Path(tempfile.mkdtemp())
    fill(directory / "kv.db", keys=1)
    for file in directory.iterdir():
        file.chmod(0o444)
    directory.chmod(0o555)
    with as_ordinary_user():
        message = start_error(directory / "kv.db", NoSpace)
    assert "read-only" in message
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_store_that_turns_read_only_refuses_writes_and_goes_on_reading(tmp_path):
    async def scenario():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        revision = await kv.create("/registry/a/x", b"one")
        await kv._writer.run(lambda connection: connection.execute("PRAGMA query_only=1").fetchall())
        with pytest.raises(NoSpace, match="read-only"):
            await kv.update("/registry/a/x", b"two", revision)
        with pytest.raises(NoSpace):
            await kv.grant(10)
        assert (await kv.get("/registry/a/x"))[0].value == b"one"
        assert len((await kv.range("/registry/")).items) == 1
        await kv._writer.run(lambda connection: connection.execute("PRAGMA query_only=0").fetchall())
        assert await kv.update("/registry/a/x", b"two", revision) == revision + 1
        await kv.close()

    asyncio.run(scenario())


def test_after_a_write_that_failed_in_an_unknown_way_nothing_is_written_until_a_restart(tmp_path):
    async def broken():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        revision = await kv.create("/registry/a/x", b"one")

        def fail(connection):
            raise sqlite3.OperationalError("disk I/O error")

        with pytest.raises(Unavailable):
            await kv._writer.run(fail)
        with pytest.raises(Unavailable, match="until the server is restarted"):
            await kv.update("/registry/a/x", b"two", revision)
        assert (await kv.get("/registry/a/x"))[0].value == b"one"
        await kv.close()

    async def restarted():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        await kv.update("/registry/a/x", b"two", (await kv.get("/registry/a/x"))[0].revision)
        await kv.close()

    asyncio.run(broken())
    asyncio.run(restarted())
