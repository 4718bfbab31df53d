from __future__ import annotations

import pytest

from kapi.options.server_run_options import all_flags
from kapi.options.usage import sections


def test_sections_come_in_upstreams_order() -> None:
    titles = [line for line in sections(all_flags(), 0).splitlines() if line.endswith(" flags:")]
    assert titles[:5] == [
        "Generic flags:",
        "Etcd flags:",
        "Secure serving flags:",
        "Insecure serving flags:",
        "Auditing flags:",
    ]
    assert titles[-3:] == ["Misc flags:", "Kapi flags:", "Global flags:"]


def test_without_a_terminal_each_flag_is_one_line_in_two_columns() -> None:
    lines = sections(all_flags(), 0).splitlines()
    port = next(line for line in lines if line.startswith("      --secure-port int "))
    help_flag = next(line for line in lines if line.startswith("  -h, --help "))
    assert port.endswith("(default 6443)")
    assert help_flag.endswith("   Print this help.")
    assert any(line.startswith("      --version version[=true]   ") for line in lines)


def test_strings_show_their_default_in_quotes() -> None:
    assert '(default "/registry")' in sections(all_flags(), 0)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_on_a_terminal_no_line_is_wider(columns: int) -> None:
    for line in sections(all_flags(), columns).splitlines():
        assert len(line) <= columns or len(line.split()) == 1 or line.lstrip().startswith("--"), line


def test_on_a_terminal_the_text_stands_below_the_name() -> None:
    lines = sections(all_flags(), 80).splitlines()
    at = lines.index("      --secure-port int")
    assert lines[at + 1].startswith(" " * 16 + "The port for HTTPS")


def test_a_terminal_too_narrow_to_wrap_loses_nothing() -> None:
    assert "(default 6443)" in sections(all_flags(), 30)
