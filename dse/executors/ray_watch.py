"""Looking after Ray: whether it lives, what is said when it ends this process, and what it leaves behind."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from dse import signals
from dse.errors import InputError

HEAD_SECONDS = 20.0
"""A head that does not answer for so long is lost; Ray itself would wait for 60 s and end the process."""

_CONNECT_SECONDS = 2.0
_LOOK_SECONDS = 3.0  # between looks at the head of a cluster
_GO_ON = "run the command again to go on from what is stored"
_LAST_WORDS = f"error: ended from outside, or by Ray, whose own processes are gone; {_GO_ON}"
_HELPER = 'while read -r line; do last=$line; done; [ "$last" = . ] || echo "$last" >&2'


class RayWatch:
    """Looks at the processes of a session on this machine, or at the head of a cluster."""

    def __init__(self, ray: Any) -> None:
        """`ray` is connected."""
        internals = importlib.import_module("ray._private.worker")
        self._node = internals._global_node
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = host.strip("[]"), int(port)
        self._answered_s = self._looked_s = time.monotonic()

    def check(self) -> None:
        """Look, now and then.

        Raises:
            InputError: Ray, or the head of its cluster, is gone.
        """
        if ended := [name for name, _ in self._node.dead_processes() if name in ("gcs_server", "raylet")]:
            raise InputError(f"Ray's {ended[0]} ended on this machine; {_GO_ON}")
        now = time.monotonic()
        if now - self._looked_s < _LOOK_SECONDS:
            return
        self._looked_s = now
        try:
            socket.create_connection(self._head, _CONNECT_SECONDS).close()
            self._answered_s = time.monotonic()
        except OSError:
            if now - self._answered_s > HEAD_SECONDS:
                raise InputError(
                    f"the head of executor.address has not answered for {HEAD_SECONDS:g} s; {_GO_ON}"
                ) from None

    @property
    def is_answered(self) -> bool:
        """Whether the head answered last time; calls that ask it would wait."""
        return self._looked_s <= self._answered_s

    def agents(self) -> list[Any]:
        """Processes that the raylet of a session on this machine started."""
        psutil = importlib.import_module("psutil")  # which Ray brings along
        found: list[Any] = []
        for process in self._node.all_processes.get("raylet", ()):
            with contextlib.suppress(psutil.Error):
                found.extend(psutil.Process(process.process.pid).children(recursive=True))
        return found


def end_processes(processes: list[Any]) -> None:
    """Kill what is left of them: Ray's agents would look for their raylet for two minutes."""
    psutil = importlib.import_module("psutil")
    for process in processes:
        with contextlib.suppress(psutil.Error):  # which also knows a number that another process has by now
            process.kill()


@contextlib.contextmanager
def last_words() -> Iterator[None]:
    """Have a line printed if this command ends within the block without a word.

    Ray's native code ends the process, without an exception or a handler, when it finds its raylet gone. So a
    shell waits for the end of a pipe; a block that is left tells it to be quiet.
    """
    if not signals.is_guarded() or os.name != "posix":
        yield
        return
    helper = subprocess.Popen(
        ["/bin/sh", "-c", _HELPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is none of its business
        bufsize=0,
    )
    pipe = helper.stdin
    assert pipe is not None

    def dismiss() -> None:
        with contextlib.suppress(OSError, ValueError):
            pipe.write(b".\n")

    signals.before_end(dismiss)
    try:
        pipe.write(f"{_LAST_WORDS}\n".encode())
        yield
    finally:
        dismiss()
        pipe.close()
        helper.wait()
