"""The log: its formats and modes, rotation, truncation, and what happens when it cannot be written."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kapi.audit.log_file import LogFile, Rotation, keep_house
from tests.audit.conftest import Audited, policy_file
from tests.server_process import COMMAND, Server

MAPS = "/api/v1/namespaces/default/configmaps"
METADATA = [{"level": "Metadata", "omitStages": ["RequestReceived"]}]
OBJECTS = [{"level": "RequestResponse", "omitStages": ["RequestReceived"]}]


def large(name: str, size: int) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "x" * size}}


def lines_of(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in text.splitlines()]


def test_a_new_log_is_its_owners_alone(audited: Callable[..., Audited]) -> None:
    running = audited(METADATA)
    assert running.log.stat().st_mode & 0o777 == 0o600
    assert running.log.parent.stat().st_mode & 0o777 == 0o700


def test_the_legacy_format_is_a_line_of_text(audited: Callable[..., Audited]) -> None:
    running = audited(METADATA, "--audit-log-format=legacy")
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="mine", user_agent='a"b', **{"Impersonate-User": "zoe"})
    (line,) = [line for line in running.log.read_text().splitlines() if 'id="mine"' in line]
    assert re.sub(r"^\S+ ", "", line) == (
        r'AUDIT: id="mine" stage="ResponseComplete" ip="127.0.0.1" method="list" user="admin" '
        r'groups="\"system:masters\",\"system:authenticated\"" as="zoe" asgroups="\"system:authenticated\"" '
        rf'user-agent="a\"b" namespace="default" uri="{MAPS}" response="200"'
    )


def test_a_batched_log_is_whole_after_a_shutdown(audited: Callable[..., Audited]) -> None:
    running = audited(METADATA, "--audit-log-mode=batch")
    with running.server.client() as admin:
        for i in range(500):
            admin.send("GET", MAPS, audit_id=f"batched-{i}").read()
    assert running.server.stop() == 0
    ids = [event["auditID"] for event in running.events() if event["auditID"].startswith("batched")]
    assert ids == [f"batched-{i}" for i in range(500)]


def test_batches_wait_until_they_are_full_or_the_server_stops(audited: Callable[..., Audited]) -> None:
    running = audited(
        [{"level": "None", "users": ["system:apiserver"]}, *METADATA],
        "--audit-log-mode=batch",
        "--audit-log-batch-max-size=3",
        "--audit-log-batch-max-wait=1h",
        "--audit-log-batch-throttle-enable",
        "--audit-log-batch-throttle-qps=1000",
        "--audit-log-batch-throttle-burst=1",
    )
    with running.server.client() as admin:
        for i in range(5):
            admin.send("GET", MAPS, audit_id=f"waiting-{i}").read()
    assert len(running.events()) <= 3
    assert running.server.stop() == 0
    assert [event["auditID"] for event in running.events()] == [f"waiting-{i}" for i in range(5)]


def test_standard_output_is_a_log_too(tmp_path: Path, new_server: Callable[..., Server]) -> None:
    server = new_server()
    policy = policy_file(tmp_path, METADATA)
    output = (tmp_path / "stdout").open("w")
    flags = [*server._own_flags(), f"--audit-policy-file={policy}", "--audit-log-path=-"]
    with output, subprocess.Popen([*COMMAND, *flags], stdout=output, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any('"ready"' in line for line in process.stderr)
        with server.client() as admin:
            admin.send("GET", MAPS, audit_id="printed").read()
        process.terminate()
        process.communicate()
    assert "printed" in [event["auditID"] for event in lines_of(tmp_path / "stdout")]


def test_a_full_log_is_set_aside(audited: Callable[..., Audited]) -> None:
    running = audited(OBJECTS, "--audit-log-maxsize=1", "--audit-log-compress")
    with running.server.client() as admin:
        for i in range(4):
            admin.call("POST", f"{MAPS}?dryRun=All", large(f"m{i}", 200_000), audit_id=f"rotated-{i}")
    assert running.server.stop() == 0
    files = sorted(running.log.parent.iterdir())
    assert re.fullmatch(r"audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz", files[0].name)
    assert files[-1] == running.log
    found = [event["auditID"] for file in files for event in lines_of(file) if event["auditID"].startswith("rotated")]
    assert found == [f"rotated-{i}" for i in range(4)]
    assert running.log.stat().st_size <= 1024 * 1024


def test_an_event_larger_than_a_file_is_lost_and_counted(audited: Callable[..., Audited]) -> None:
    running = audited(OBJECTS, "--audit-log-maxsize=1")
    with running.server.client() as admin:
        status, _ = admin.call("POST", f"{MAPS}?dryRun=All", large("huge", 800_000), audit_id="huge")
        _, metrics = admin.text("/metrics")
    assert status == 201
    assert running.events("huge") == []
    assert 'apiserver_audit_error_total{plugin="log"} 1' in metrics
    assert "exceeds maximum file size 1048576" in running.server.logged("audit_plugin_failed")


def test_only_so_many_files_are_kept_and_none_too_long(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    names = ["audit-2001-01-01T00-00-00.000.log", "audit-2999-01-01T00-00-00.000.log.gz"]
    names += [f"audit-2999-01-0{day}T00-00-00.000.log" for day in (2, 3)]
    others = ["audit.log", "audit-x.log", "other-2001-01-01T00-00-00.000.log"]
    for name in names + others:
        (tmp_path / name).write_text("{}\n")
    keep_house(log, Rotation(max_size=1, max_age=30, max_backups=0))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:] + others)
    keep_house(log, Rotation(max_size=1, max_age=0, max_backups=2, compress=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{n}.gz" for n in names[2:]] + others)


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for text in (b"one\n", b"two\n"):
        log = LogFile(tmp_path / "audit.log", Rotation(max_size=1, max_age=0, max_backups=0))
        log.write(text)
        log.close()
    assert (tmp_path / "audit.log").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("size", [0, 1])
def test_rotation_is_off_at_zero(tmp_path: Path, size: int) -> None:
    log = LogFile(tmp_path / "audit.log", Rotation(max_size=size, max_age=0, max_backups=0))
    for _ in range(3):
        log.write(b"x" * 600_000 + b"\n")
    log.close()
    assert len(list(tmp_path.iterdir())) == (3 if size else 1)


def test_large_events_go_without_their_objects(audited: Callable[..., Audited]) -> None:
    flags = ("--audit-log-truncate-max-event-size=4000", "--audit-log-truncate-max-batch-size=8000")
    running = audited(OBJECTS, "--audit-log-truncate-enabled", *flags)
    with running.server.client() as admin:
        admin.call("POST", f"{MAPS}?dryRun=All", large("small", 10), audit_id="small")
        admin.call("POST", f"{MAPS}?dryRun=All", large("large", 4000), audit_id="large")
        admin.send("GET", f"{MAPS}?labelSelector={'x' * 4000}", audit_id="hopeless").read()
        _, metrics = admin.text("/metrics")
    assert running.event("small")["requestObject"]["data"] == {"a": "x" * 10}
    event = running.event("large")
    assert event["annotations"]["audit.k8s.io/truncated"] == "true"
    assert not {"requestObject", "responseObject"} & event.keys()
    assert event["objectRef"]["name"] == "large"
    assert running.events("hopeless") == []
    assert 'apiserver_audit_error_total{plugin="truncate"} 1' in metrics


def test_a_log_that_cannot_be_written_harms_no_request(audited: Callable[..., Audited]) -> None:
    running = audited(METADATA, "--audit-log-path=/dev/full")
    with running.server.client() as admin:
        admin.get(MAPS)
        _, metrics = admin.text("/metrics")
    assert re.search(r'^apiserver_audit_error_total\{plugin="log"\} [1-9]', metrics, re.MULTILINE)
    running.server.logged("No space left on device")


def test_a_strict_log_that_cannot_be_written_fails_requests(audited: Callable[..., Audited]) -> None:
    rules = [{"level": "None", "nonResourceURLs": ["*"]}, {"level": "None", "users": ["system:apiserver"]}]
    running = audited([*rules, {"level": "Metadata"}], "--audit-log-path=/dev/full", "--audit-log-mode=blocking-strict")
    with running.server.client() as admin:
        status, text = admin.text(f"{MAPS}?limit=1&continue=")
        _, metrics = admin.text("/metrics")
    assert status == 500
    assert text == f'Internal Server Error: "{MAPS}?limit=1&amp;continue=": failed to store audit event\n'
    assert "apiserver_audit_requests_rejected_total 1" in metrics


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--audit-log-path=/proc/nosuch/audit.log"], "ensureLogFile: "),
        (["--audit-policy-file=/no/such"], 'loading audit policy file: failed to read file path "/no/such"'),
        (["--audit-log-path=-", "--audit-log-mode=x"], "invalid audit log mode x, allowed modes are "),
        (
            ["--audit-log-path=-", "--audit-log-format=x"],
            'invalid audit log format x, allowed formats are "legacy,json"',
        ),
        (["--audit-log-path=-", "--audit-log-version=v1"], "invalid group version, allowed versions are "),
        (["--audit-log-path=-", "--audit-log-maxage=-1"], "--audit-log-maxage -1 can't be a negative number"),
        (
            ["--audit-log-path=-", "--audit-log-mode=batch", "--audit-log-batch-buffer-size=0"],
            "invalid audit batch log buffer size 0, must be a positive number",
        ),
        (
            ["--audit-log-path=-", "--audit-log-truncate-max-batch-size=1"],
            "invalid audit truncate log max batch size 1, must be greater than max event size (102400)",
        ),
        (
            ["--audit-webhook-config-file=x", "--audit-webhook-batch-throttle-qps=0"],
            "invalid audit batch webhook throttle QPS 0, must be a positive number",
        ),
    ],
)
def test_a_server_does_not_start_without_what_it_was_told_to_write(
    new_server: Callable[..., Server], flags: list[str], problem: str
) -> None:
    server = new_server(*flags).launch()
    assert server.exit_status() == 1
    assert f"Error: {problem}" in server.said
