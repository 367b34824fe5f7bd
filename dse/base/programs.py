"""Programs of the user's own: run in private folders and process groups, with a time limit and a log."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dse.base.errors import InputError, SimulationTimeout
from dse.base.orphans import mark_of_programs, not_left_behind
from dse.base.signals import putting_away

_TAIL_BYTES = 8192
_TAIL_LINES = 3
_LINE_LENGTH = 200


@dataclass(frozen=True)
class ProgramRunner:
    """Runs programs, several at a time if called from several threads, and can end those that run.

    Each leads a process group of its own, so that its children end with it. All end with this process.
    """

    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        timeout_s: float,
        environment: Mapping[str, str] | None = None,
    ) -> int:
        """Run `command` in `folder`, its output in `log`; return its exit status, -n after signal n.

        Raises:
            InputError: the program cannot be started, or the log cannot be written.
            SimulationTimeout: it ran longer than `timeout_s` and was killed, its children too.
        """
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**os.environ, **(environment or {}), **mark_of_programs()},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise InputError(f"cannot run {command[0]}: {error.strerror or error}") from None
        self._running.add(process)
        with not_left_behind(-process.pid):
            try:
                return process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                raise SimulationTimeout(f"ran longer than {timeout_s:g} s and was killed") from None
            finally:
                self._running.discard(process)
                _kill(process)
                process.wait()

    def stop(self) -> None:
        """Kill what runs; the calls that wait for it return the signal."""
        for process in tuple(self._running):
            _kill(process)

    def __reduce__(self) -> tuple[type[ProgramRunner], tuple[()]]:
        """A copy, such as that of another process, runs nothing yet."""
        return ProgramRunner, ()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:  # not reaped, so the number is still that of its group
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def found_program(program: str | Path, key: str) -> Path:
    """Return the absolute path of an executable file; `key` is what a user sets.

    Raises:
        InputError: there is no such file, or it cannot be executed.
    """
    path = Path(program).expanduser().absolute()
    if not path.is_file():
        raise InputError(f"{key} is '{program}'; there is no such file")
    if not os.access(path, os.X_OK):
        raise InputError(f"{key} is '{program}'; it is not executable (chmod +x)")
    return path


@contextlib.contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Make a temporary folder that no other process uses, and remove it.

    Its path does not contain `empty`: ASTRA-sim takes such a path for "no file".

    Raises:
        InputError: it cannot be made.
    """
    parent = tempfile.gettempdir()
    if "empty" in parent:
        raise InputError(
            f"the temporary folder is '{parent}': ASTRA-sim ignores a groups file whose path contains "
            "'empty'; set TMPDIR to another folder"
        )
    folder = None
    while folder is None or "empty" in folder:
        if folder is not None:
            Path(folder).rmdir()
        try:
            folder = tempfile.mkdtemp(prefix=prefix)
        except OSError as error:
            raise InputError(f"cannot make a folder in {parent}: {error.strerror}; set TMPDIR") from None
    with putting_away():
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def where_log_is(log: Path, prefix: str | None) -> str:
    """Say where a log is; with a prefix, copy it first out of a private folder that will be removed."""
    if not log.is_file():
        return "it left no log"
    if log.stat().st_size == 0:
        return "its log is empty"
    if prefix is None:
        return f"its log is {log}"
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".log")
    os.close(descriptor)
    shutil.copyfile(log, name)
    return f"its log is {name}"


def ended_with(status: int, log: Path) -> str:
    """Such as "ended with signal 11 (SIGSEGV)", and the last lines of the log, if it has any."""
    return "; ".join(filter(None, [f"ended with {how_it_ended(status)}", last_lines(log)]))


def how_it_ended(status: int) -> str:
    """Such as "exit status 1" or "signal 11 (SIGSEGV)"."""
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {-status} ({signal.Signals(-status).name})"
    return f"signal {-status}"


def tail(log: Path) -> str:
    """Return the end of a log, some kilobytes at most."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read().decode(errors="replace")


def last_lines(log: Path) -> str:
    """Return the last lines of a log, in one line for people; nothing where it has none."""
    lines = [" ".join(line.split())[:_LINE_LENGTH] for line in tail(log).splitlines() if line.strip()]
    if not lines:
        return ""
    printable = "".join(c if c.isprintable() else "?" for c in " | ".join(lines[-_TAIL_LINES:]))
    return f"the last lines of its log are: {printable}"
