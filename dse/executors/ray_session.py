"""A connection to Ray: started quietly for one run, or that of this process, which then stays."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from dse.errors import InputError

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 20.0  # of which the start of Python and Ray takes some
_PROBE = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
_MIB = 2**20
_STORE_BYTES = 256 * _MIB  # scenarios and rows are small; more than this goes to the disk
_INSTALL = "pip install ray"


@contextlib.contextmanager
def ray_session(address: str | None, cpus: int) -> Iterator[Any]:
    """Yield the module `ray`, connected to `address`, or to `cpus` workers on this machine.

    Raises:
        InputError: ray is not installed, or nothing answers at the address.
    """
    try:
        import ray
    except ImportError:
        raise InputError(f"executor=ray needs ray, which is not installed: {_INSTALL}") from None
    if ray.is_initialized():
        yield ray, False
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as threads have; Ray's own is 15
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    with _without_reports():
        if address is None:
            ray.init(
                "local",  # not that of RAY_ADDRESS: executor.address=auto means it
                num_cpus=cpus,
                object_store_memory=_STORE_BYTES,
                include_dashboard=False,
                **quiet,
            )
        else:
            _check(address)
            try:
                ray.init(address, **quiet)
            except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
                first = str(error).strip().split("\n")[0]
                raise InputError(f"executor.address is '{address}'; cannot connect: {first}") from None
        try:
            yield ray, True
        finally:
            ray.shutdown()


def _check(address: str) -> None:
    """Fail soon where nobody listens: Ray itself would wait for minutes, and then end the process."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise InputError(
            f"executor.address is '{address}'; it must be HOST:PORT of the head of a cluster, or auto"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"executor.address is '{address}'; cannot connect: {reason}. "
            "Is the head running (ray start --head --port=PORT)?"
        ) from None
    try:
        # In a process of its own, for this cannot be interrupted. Only that it hangs says anything here.
        subprocess.run(
            [sys.executable, "-c", _PROBE, address], capture_output=True, timeout=_ANSWER_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"executor.address is '{address}'; what listens there does not answer as the head of a "
            f"cluster of Ray in {_ANSWER_SECONDS:g} s"
        ) from None


@contextlib.contextmanager
def _without_reports() -> Iterator[None]:
    """Keep Ray from printing the log of every lost worker and node: what is lost is in the rows.

    No option of Ray turns these reports off; where this function is not found, they are printed.
    """
    import ray._private.worker as internals

    name = "print_to_stdstream"
    before = getattr(internals, name, None)
    if before is None:
        yield
        return
    setattr(internals, name, lambda *_, **__: None)
    try:
        yield
    finally:
        setattr(internals, name, before)
