"""Ctrl-C that is not lost: an exception that it raises inside a finaliser would be ignored."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from dse.base.signals import postponed


@contextlib.contextmanager
def noticed_interrupts() -> Iterator[list[int]]:
    """Note every Ctrl-C in a list, besides what it does anyway; only in the main thread."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # nohup, background jobs of scripts
        yield noted
        return

    def handler(number: int, frame: FrameType | None) -> None:
        if postponed(number, frame):
            return
        noted.append(number)
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield noted
    finally:
        # A generator that was dropped may be closed by another thread, where no handler can be set.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
