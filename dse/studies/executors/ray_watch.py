"""Looking after Ray: whether it lives, and what is said when it ends this process."""

from __future__ import annotations

import contextlib
import importlib
import socket
import time
from collections.abc import Iterator
from typing import Any

from dse.base import orphans, signals
from dse.base.errors import InputError

HEAD_SECONDS = 20.0
"""A head that does not answer for so long is lost; Ray itself would wait for 60 s and end the process."""

_CONNECT_SECONDS = 2.0
_LOOK_SECONDS = 3.0  # between looks at the head of a cluster
_GO_ON = "run the command again to go on from what is stored"
_LAST_WORDS = f"error: ended from outside, or by Ray, whose own processes are gone; {_GO_ON}"


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


@contextlib.contextmanager
def last_words() -> Iterator[None]:
    """Have a line printed if this command ends within the block without a word.

    Ray's native code ends the process, without an exception or a handler, when it finds its raylet gone. So a
    helper has them, which a block that is left, or a signal, tells to be quiet.
    """
    if not signals.is_guarded():
        yield
        return
    signals.before_end(lambda: orphans.last_words(""))
    orphans.last_words(_LAST_WORDS)
    try:
        yield
    finally:
        orphans.last_words("")
