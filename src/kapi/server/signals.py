"""Signals: the first asks the server to stop, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio import Event

from kapi.telemetry.log import log

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stop_on_signals(stop: Event) -> None:
    loop = asyncio.get_running_loop()

    def received(number: int) -> None:
        if stop.is_set():
            log.warning("second_signal", signal=signal.Signals(number).name)
            os._exit(1)
        log.info("signal_received", signal=signal.Signals(number).name)
        stop.set()

    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, received, number)
        except NotImplementedError:  # event loops on Windows
            signal.signal(number, lambda n, _: loop.call_soon_threadsafe(received, n))
