"""The log, as klog text and as JSON."""

from __future__ import annotations

import io
import json
import re

import pytest

from kapi.telemetry.log import Log


@pytest.fixture
def log():
    return Log(io.StringIO())


def test_text_has_klogs_header_and_quoted_fields(log):
    log.warning("port_taken", port=6443, secure=True, path='a "b"', ratio=0.5)
    line = log.stream.getvalue()
    assert re.fullmatch(
        r'W\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+\] "port_taken" port=6443 secure=true path="a \\"b\\"" ratio=0.5\n',
        line,
    )


def test_severities_have_their_letters(log):
    log.info("a")
    log.warning("b")
    log.error("c")
    assert [line[0] for line in log.stream.getvalue().splitlines()] == ["I", "W", "E"]


def test_values_of_several_lines_are_indented(log):
    log.error("failed", traceback="one\ntwo\n", after=1)
    assert log.stream.getvalue().endswith('"failed" traceback=<\n\tone\n\ttwo\n > after=1\n')


def test_control_characters_cannot_forge_a_line(log):
    log.info("request", path="/x\rI0101 forged\x1b[0m")
    assert log.stream.getvalue().count("\n") == 1
    assert "\r" not in log.stream.getvalue()
    assert "\x1b" not in log.stream.getvalue()


def test_debug_is_written_up_to_the_verbosity(log):
    log.verbosity = 3
    log.debug(3, "yes")
    log.debug(4, "no")
    assert log.stream.getvalue().count("yes") == 1
    assert "no" not in log.stream.getvalue()


def test_json_lines_have_time_level_message_and_fields(log):
    log.format = "json"
    log.verbosity = 2
    log.debug(2, "seen", name="ü", count=3, odd={1: object})
    log.error("failed", why=ValueError("x"))
    seen, failed = (json.loads(line) for line in log.stream.getvalue().splitlines())
    assert (seen["msg"], seen["v"], seen["level"], seen["name"], seen["count"]) == ("seen", 2, "info", "ü", 3)
    assert seen["ts"] > 1e12
    assert (failed["level"], failed["why"]) == ("error", "x")
    assert "v" not in failed


def test_what_orjson_refuses_is_logged_all_the_same(log):
    log.format = "json"
    log.info("lone", text="\ud800")
    assert json.loads(log.stream.getvalue())["text"] == "\ud800"


def test_a_log_that_cannot_be_written_does_not_fail_its_caller(log):
    log.stream.close()
    log.info("lost")

    class Full(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    log.stream = Full()
    log.info("lost too")
