"""Ctrl-C and SIGTERM in commands: one line, and exit code 130 or 143, from the first line that runs on.

While nothing is at stake (imports, configuration, answers) a signal ends the process at once: an exception
could be swallowed by a finaliser or a library, or be taken for another error. A block that holds something
(rows, programs, temporary files) is marked by `putting_away`: there a signal raises KeyboardInterrupt, and
the process ends when the block has been left, however it is left. Only commands call `guard`; nothing changes
for programs that use dse as a library.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from opcode import opmap
from types import FrameType
from typing import Any

from dse.base.start import INTERRUPTED as INTERRUPTED

_SAME_S = 1.0  # a terminal and a wrapper may both pass on one Ctrl-C; a later one means: now
_AGAIN_S = 0.001
_LOAD_SPECIAL = opmap.get("LOAD_SPECIAL", -1)
_LOCKING = {"__enter__", "__exit__", "_acquire_restore", "_release_save", "notify", "notify_all"}


class _Command:
    """The signals of one process; made by `guard`, which is its only caller."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._thread = _thread.get_ident()
        self._number = int(signal.SIGINT)
        self._received_s: float | None = None
        self._line = INTERRUPTED
        self._blocks = 0
        self._code: int | None = None
        self.farewells: list[Callable[[], None]] = []
        self.end_later: Callable[[int, str], None] | None = None
        atexit.register(self._leave)  # the first one to be registered runs last
        sys.unraisablehook = self._unraisable
        self.listen()

    def listen(self) -> None:
        """Handle both signals; Ctrl-C stays ignored where it is (nohup, background jobs of scripts)."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._interrupted)
        self.listen_to_end()

    def listen_to_end(self) -> None:
        """Handle SIGTERM, which libraries take over."""
        signal.signal(signal.SIGTERM, self._terminated)

    @property
    def is_signalled(self) -> bool:
        """Whether a signal has come."""
        return self._received_s is not None

    @property
    def is_main(self) -> bool:
        """Whether this thread is the one that handles signals."""
        return _thread.get_ident() == self._thread

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        if self._received_s is None:
            self._number = number
        handler = signal.getsignal(signal.SIGINT)  # whoever has put another one before ours takes notice too
        (handler if callable(handler) else self._interrupted)(signal.SIGINT, frame)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a copy that is about to become another program
            os._exit(128 + self._number)
        if self._blocks and postponed(number, frame):
            return
        now = time.monotonic()
        if self._received_s is None:
            self._received_s = now
        elif now - self._received_s < _SAME_S:
            return
        else:
            self.end()
        if not self._blocks:
            self.end()
        if self.end_later is not None:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            self.end_later(self._number, self._line)
        raise KeyboardInterrupt

    def enter(self, line: str | None) -> str:
        """Begin a block; return the line of the one around it."""
        before = self._line
        self._line = line or before
        self._blocks += 1
        return before

    def leave(self, before: str) -> None:
        """Leave a block; the outermost one ends the process after a signal."""
        self._blocks -= 1
        if self.is_signalled and not self._blocks:
            self.end()
        self._line = before

    def end(self) -> None:
        """End the process with the line; nothing runs after that."""
        for farewell in self.farewells:
            farewell()
        with contextlib.suppress(OSError):
            os.write(2, f"{self._line}\n".encode())
        os._exit(128 + self._number)

    def done(self, code: int) -> None:
        """Take the exit code of what is complete."""
        self._code = code

    def _leave(self) -> None:
        """Leave out the rest of Python's own end, in which signals could not be handled any more."""
        if self._code is not None and os.getpid() == self._pid:
            if self.is_signalled:
                self.end()
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(self._code)

    @staticmethod
    def _unraisable(problem: Any) -> None:
        if not issubclass(problem.exc_type, KeyboardInterrupt):  # that is noted already
            sys.__unraisablehook__(problem)


_command: _Command | None = None


def postponed(number: int, frame: FrameType | None) -> bool:
    """Whether a handler was called where it must not raise; it will be called again a millisecond later.

    Conditions, events and futures take their locks in Python. An exception between the taking and the block
    that gives a lock back would leave it taken, and other threads would wait for it without end.
    """
    if frame is None or not (_is_unguarded(frame) or _is_locking(frame)):
        return False
    _thread.start_new_thread(_signal_again, (_thread.get_ident(), number))
    return True


def _is_unguarded(frame: FrameType) -> bool:
    """Whether an exception here would leave out the end of a `with` or `try` of the function.

    From Python 3.14 on, handlers also run between the call of `__enter__` and the block, and where a loop in
    a block goes back; the table of exceptions has no entry for either.
    """
    if sys.version_info < (3, 14):
        return False
    at, code = frame.f_lasti, frame.f_code
    if at >= 2 and code.co_code[at - 2] == _LOAD_SPECIAL:
        return True
    blocks = _blocks(code.co_exceptiontable)
    before = {handler for _, end, handler in blocks if end <= at}
    is_guarded = any(start <= at < end for start, end, _ in blocks)
    return not is_guarded and any(start > at and handler in before for start, _, handler in blocks)


def _blocks(table: bytes) -> list[tuple[int, int, int]]:
    """Where blocks of a function begin and end, and their handlers; a byte of the table has 6 bits."""
    numbers, value = [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(2 * value)  # places count pairs of bytes
            value = 0
    return [
        (at, at + size, to) for at, size, to in zip(numbers[::4], numbers[1::4], numbers[2::4], strict=True)
    ]


def _is_locking(frame: FrameType) -> bool:
    if frame.f_globals.get("__name__") not in ("threading", "concurrent.futures._base"):
        return False
    name = frame.f_code.co_name
    # Condition.wait gives its lock back before it names `gotit`; from then on it takes it again in any case.
    is_releasing = name == "wait" and "waiter" in frame.f_locals and "gotit" not in frame.f_locals
    return name in _LOCKING or is_releasing


def _signal_again(thread: int, number: int) -> None:
    time.sleep(_AGAIN_S)
    signal.pthread_kill(thread, number)


def guard() -> None:
    """Handle signals from here on, in a process that is a command; call it in the main thread."""
    global _command
    if _command is None:
        _command = _Command()


@contextlib.contextmanager
def putting_away(line: str | None = None) -> Iterator[None]:
    """While the block runs, a signal raises KeyboardInterrupt; the process ends when the block has been left.

    `line` is what a command says then; a second signal, over a second after the first one, ends it at once.
    Does nothing in other threads, and in processes that are no command.
    """
    command = _command
    if command is None or not command.is_main:
        yield
        return
    before = command.enter(line)
    try:
        yield
    finally:
        command.leave(before)


@contextlib.contextmanager
def ending_within(seconds: int) -> Iterator[None]:
    """Have the process ended from outside if the block goes on for so long after a signal.

    A library may swallow what a handler raises, and native code may wait with Python's lock in its hands.
    """
    command = _command
    if command is None or not command.is_main:
        yield
        return
    from dse.base import orphans

    command.end_later = functools.partial(orphans.ended_after, seconds)
    try:
        yield
    finally:
        command.end_later = None
        if command.is_signalled:
            orphans.spared()
            command.listen()


def raise_if_signalled() -> None:
    """Raise KeyboardInterrupt where a signal has come, but its exception was swallowed."""
    if _command is not None and _command.is_signalled:
        raise KeyboardInterrupt


def end_if_signalled() -> None:
    """End the process where a signal has come and nothing is at stake any more."""
    if _command is not None and _command.is_signalled:
        _command.end()


def is_guarded() -> bool:
    """Whether this process is a command."""
    return _command is not None


def before_end(farewell: Callable[[], None]) -> None:
    """Have a short function called, which raises nothing, before a signal ends a command."""
    if _command is not None:
        _command.farewells.append(farewell)


def listen_again() -> None:
    """Take SIGTERM back from a library that has put a handler of its own."""
    if _command is not None and _command.is_main:
        _command.listen_to_end()


def done(code: int) -> None:
    """Say that the command is complete, with this exit code."""
    if _command is not None:
        _command.done(code)
