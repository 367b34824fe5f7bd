"""A connection to Ray: started quietly for one run, or that of this process, which then stays."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from dse.base import signals
from dse.base.errors import InputError
from dse.base.lazy import extra
from dse.base.orphans import no_descendants_left_behind
from dse.studies.executors.ray_watch import last_words

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 20.0  # of which the start of Python and Ray takes some
_END_SECONDS = 10  # after a signal that Ray does not answer while it connects
_PROBE = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
_MIB = 2**20
_TRIES = 3
_STORE_BYTES = 256 * _MIB  # scenarios and rows are small; more than this goes to the disk
_INSTALL = "pip install ray"
_LEAST_VERSION = (2, 59)  # from here on, sessions of `ray.init` ask for a token


@contextlib.contextmanager
def ray_session(address: str | None, cpus: int) -> Iterator[tuple[Any, bool]]:
    """Yield the module `ray`, connected to `address` or to `cpus` workers here, and whether this is new.

    Workers on this machine listen on its loopback interface only.

    Raises:
        InputError: ray is not installed or too old, does not start, or nothing answers at the address.
    """
    ray = extra("ray", f"executor=ray needs ray, which is not installed: {_INSTALL}")
    if ray.is_initialized():
        yield ray, False
        return
    _check_version(ray.__version__)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as threads have; Ray's own is 15
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if address is not None:
        _check(address)
    started = contextlib.nullcontext() if address else no_descendants_left_behind()
    with started, last_words(), _without_reports():
        try:
            loopback = contextlib.nullcontext() if address else _on_loopback()
            with _own_handlers(), loopback, signals.ending_within(_END_SECONDS):
                if address is None:
                    _start(ray, cpus, quiet)
                else:
                    _connect(ray, address, quiet)
            signals.raise_if_signalled()
            yield ray, True
        finally:
            ray.shutdown()


def _start(ray: Any, cpus: int, quiet: dict[str, Any]) -> None:
    """Start Ray here; a machine that is too busy to start its processes in Ray's 30 s gets more tries."""
    for left in reversed(range(_TRIES)):
        try:
            ray.init(
                "local",  # not that of RAY_ADDRESS: executor.address=auto means it
                num_cpus=cpus,
                object_store_memory=_STORE_BYTES,
                include_dashboard=False,
                **quiet,
            )
            return
        except Exception as error:  # Ray raises the base class where its processes take too long
            ray.shutdown()
            if left and "timed out" in str(error):
                continue
            raise InputError(
                f"Ray cannot start on this machine: {_first_line(error)}; executor=local does without"
            ) from error


def _connect(ray: Any, address: str, quiet: dict[str, Any]) -> None:
    try:
        ray.init(address, **quiet)
    except Exception as error:
        raise InputError(f"executor.address is '{address}'; cannot connect: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".")


def _check_version(version: str) -> None:
    """Refuse a Ray whose sessions on this machine anybody who reaches them may use."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    if numbers < list(_LEAST_VERSION):
        least = ".".join(map(str, _LEAST_VERSION))
        raise InputError(
            f"executor=ray needs ray {least} or newer, whose sessions ask for a token; ray {version} is "
            f"installed: pip install 'ray>={least}'"
        )


@contextlib.contextmanager
def _replaced(module: str, name: str, value: Any) -> Iterator[bool]:
    """Replace what a module of Ray has under a name, within the block; yield whether the name is there."""
    found = importlib.import_module(f"ray._private.{module}")
    before = getattr(found, name, None)
    if before is None:
        yield False
        return
    setattr(found, name, value)
    try:
        yield True
    finally:
        setattr(found, name, before)


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Have Ray listen on 127.0.0.1 only, as it does of itself on macOS and Windows.

    Its argument for the address of a node turns 127.0.0.1 into the address that others reach; what decides is
    whether this machine may be a part of a cluster. Where this switch is not found, Ray listens to all.
    """
    variable = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    with (
        _replaced("ray_constants", "ENABLE_RAY_CLUSTER", False) as has_switch,
        contextlib.ExitStack() as undo,
    ):
        if has_switch:
            undo.callback(_put_back, variable, os.environ.get(variable))
            os.environ[variable] = "0"  # for Ray's other processes
        yield


def _put_back(variable: str, inherited: str | None) -> None:
    if inherited is None:
        del os.environ[variable]
    else:
        os.environ[variable] = inherited


@contextlib.contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep SIGTERM to ourselves: Ray would end the process, and its native code print a stack."""
    try:
        with _replaced("utils", "set_sigterm_handler", lambda _: None):
            yield
    finally:
        signals.listen_again()


def _check(address: str) -> None:
    """Fail soon where no cluster listens: Ray itself would wait for minutes, and then end the process."""
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


def _without_reports() -> contextlib.AbstractContextManager[bool]:
    """Keep Ray from printing the log of every lost worker and node: what is lost is in the rows.

    No option of Ray turns these reports off; where this function is not found, they are printed.
    """
    return _replaced("worker", "print_to_stdstream", lambda *_, **__: None)
