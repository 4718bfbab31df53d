"""From exec to ready, and every way in which a start fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.server_process import Server


def test_the_first_line_of_the_log_is_the_version(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    assert '"Version" version="v1.37.0"' in server.log[0]
    assert server.stop() == 0
