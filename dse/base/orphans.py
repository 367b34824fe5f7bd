"""No process outlives the one that started it: a shell waits for the end of that, and kills what is left."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import threading
from collections.abc import Iterator
from typing import IO

# Reads until the process that writes to it has ended: kill -9 leaves no other chance.
_SHELL = """
kill_marked() {
    for place in $(grep -l -- "$1" /proc/[0-9]*/environ 2> /dev/null); do
        number=${place#/proc/}
        kill -s KILL "${number%/environ}" 2> /dev/null
    done
}
# A process that is between its fork and its program shows no environment for a moment.
kill_until_gone() {
    kill_marked "$1"
    for again in 1 2; do
        sleep 1
        kill_marked "$1"
    done
}
# The seconds, the signal and the process; no long sleep, which would outlive this.
kill_later() {
    second=0
    while [ "$second" -lt "$1" ]; do
        sleep 1
        second=$((second + 1))
    done
    kill -s "$2" "$3"
}
while read -r what rest; do
    case $what in
    +) started="$started $rest" ;;
    -) left=; for each in $started; do [ "$each" = "$rest" ] || left="$left $each"; done; started=$left ;;
    =) words=$rest ;;
    @) mark=$rest ;;
    !) kill_until_gone "$mark" < /dev/null 2> /dev/null & mark= ;;
    k) kill_later $rest < /dev/null 2> /dev/null & later=$! ;;
    c) [ -z "$later" ] || kill "$later" 2> /dev/null; later= ;;
    esac
done
[ -z "$words" ] || echo "$words" >&2
exec 2> /dev/null
[ -z "$later" ] || kill "$later"
[ -z "$started" ] || kill -s KILL -- $started
[ -z "$mark" ] || kill_until_gone "$mark"
"""

_MARK = "DSE_STARTED_BY"
_KEEP = "SPT_NOENV"  # processes that give themselves a title, as Ray's do, would write over the mark


class _Helper:
    """The shell of one process; a copy that a fork makes gets one of its own."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SHELL],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env={name: text for name, text in os.environ.items() if name != _MARK},  # it kills what is marked
            start_new_session=True,  # signals of a terminal are none of its business
            bufsize=0,
        )

    def tell(self, line: str) -> None:
        pipe: IO[bytes] | None = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):
            pipe.write(f"{line}\n".encode())


_programs = secrets.token_hex(8)
_lock = threading.RLock()  # a handler of a signal may come while it is held
_helpers: list[_Helper] = []


def _tell(line: str) -> None:
    if os.name != "posix":
        return
    with _lock:
        if not _helpers or _helpers[-1].pid != os.getpid():
            _helpers.append(_Helper())
        _helpers[-1].tell(line)


def begun(number: int) -> None:
    """Have a process killed when this one ends; a negative number is that of a process group."""
    _tell(f"+ {number}")


def ended(number: int) -> None:
    """Forget a process that has ended: another may get its number."""
    _tell(f"- {number}")


def mark_of_programs() -> dict[str, str]:
    """Return variables for the environment of a program, so that even one that just starts is found."""
    if _MARK in os.environ:
        return {}  # inherited, and known to the shell
    value = f"{os.getpid()}-{_programs}"
    _tell(f"@ {_MARK}={value}")
    return {_MARK: value}


def ended_after(seconds: int, number: int, words: str) -> None:
    """Have a signal end this process some seconds from now, with a line, unless it is `spared`."""
    last_words(words)
    _tell(f"k {seconds} {number} {os.getpid()}")


def spared() -> None:
    """Take back `ended_after`."""
    last_words("")
    _tell("c")


@contextlib.contextmanager
def marked_environment() -> Iterator[None]:
    """Have the processes that start in the block carry the mark of the programs of this one."""
    mark = mark_of_programs()
    os.environ.update(mark)
    try:
        yield
    finally:
        for name in mark:
            os.environ.pop(name, None)


@contextlib.contextmanager
def not_left_behind(number: int) -> Iterator[None]:
    """Have a process killed if this one ends within the block."""
    begun(number)
    try:
        yield
    finally:
        ended(number)


@contextlib.contextmanager
def no_descendants_left_behind() -> Iterator[None]:
    """Have all processes that began in the block, and theirs, killed at its end or at that of this process.

    What Ray starts starts others, at any moment. They inherit a variable of the environment, by which
    /proc tells them from others.
    """
    value = f"{os.getpid()}-{secrets.token_hex(8)}"
    _tell(f"@ {_MARK}={value}")
    before = {name: os.environ.get(name) for name in (_MARK, _KEEP)}
    os.environ.update({_MARK: value, _KEEP: "1"})
    try:
        yield
    finally:
        for name, text in before.items():
            os.environ.pop(name)
            if text is not None:
                os.environ[name] = text
        _tell("! ")


def last_words(line: str) -> None:
    """Have a line printed when this process ends without a further word; an empty one prints nothing."""
    _tell(f"= {line}")
