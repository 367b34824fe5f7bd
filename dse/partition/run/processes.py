"""Processes of a job on this machine: started, watched, and stopped together when one of them dies.

Processes that torchrun started, on one host or several: they do the work of a job in place of own ones.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import connection, forkserver
from pathlib import Path
from typing import Any

from dse.base import orphans
from dse.base.errors import DseError, InputError
from dse.base.lazy import dist, torch

_GROUP_TIMEOUT_S = 120
_END_TIMEOUT_S = 5
_USER_ERROR = 2
# Imported once rather than in every process, which takes seconds each.
_PRELOADED = [
    "dse.partition.run.runtime",
    "dse.partition.run.training",
    "torch",
    "torch._dynamo",
    "torch.export",
    "torch.distributed.pipelining",
    "torch.distributed.fsdp",
]


class ProcessDied(DseError):  # noqa: N818 (what happened)
    """A process of a job ended before its work was done; says which, how, and in which step."""


Work = Callable[..., Any]
Progress = Callable[[int], None]
"""Says which step a process is in."""


def run_processes(work: Work, count: int, *arguments: Any, group: bool = True) -> list[Any]:
    """Call `work(*arguments, rank, count, progress)` in `count` processes; return what each returns.

    They form a process group (gloo on CPUs, NCCL where every process has a GPU) unless `group` is false.
    `progress(step)` says how far a process is. Under torchrun its processes do the work, on all its hosts.

    Raises:
        ProcessDied: a process ended early; the others have been stopped.
        InputError: what a process found wrong.
    """
    if launched_rank() is not None:
        return run_launched(work, count, arguments, group=group)
    # Processes end without tidying up what libraries made; that is no news to anyone.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    steps = context.Array("i", [-1] * count, lock=False)  # each writes its own
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            context.Process(
                target=_run, args=(work, arguments, rank, count, group, folder, steps), daemon=True
            )
            for rank in range(count)
        ]
        try:
            _begin_server()
            for process in processes:
                process.start()
                if process.pid is not None:
                    orphans.begun(process.pid)
            _watch(processes, steps, Path(folder))
        finally:
            _stop(processes)
        return [pickle.loads((Path(folder) / f"{rank}.result").read_bytes()) for rank in range(count)]


def _begin_server() -> None:
    """Start the process that others are forked from; while it imports, it does not see its parent end."""
    with orphans.marked_environment():
        forkserver.ensure_running()
    pid = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if pid is not None:
        orphans.begun(pid)


def _watch(processes: list[Any], steps: Any, folder: Path) -> None:
    """Wait for all processes, or for the first that fails."""
    waiting = {process.sentinel: rank for rank, process in enumerate(processes)}
    while waiting:
        ended = sorted(waiting.pop(sentinel) for sentinel in connection.wait(list(waiting)))
        for rank in ended:
            processes[rank].join()  # its exit code is known a moment after its sentinel
        failed = [rank for rank in ended if processes[rank].exitcode != 0]
        if failed:
            # One that was killed makes its peers fail: it is the cause.
            cause = min(failed, key=lambda rank: (processes[rank].exitcode >= 0, rank))
            raise _error(cause, processes[cause].exitcode, steps[cause], folder)


def _error(rank: int, code: int, step: int, folder: Path) -> DseError:
    told = folder / f"{rank}.error"
    text = told.read_text() if told.exists() else ""
    if code == _USER_ERROR and text:
        return InputError(text)
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    when = f"in step {step}" if step >= 0 else "before the first step"
    because = f": {text}" if text else ""
    return ProcessDied(f"process {rank} {how} {when}{because}; the other processes were stopped")


def _stop(processes: list[Any]) -> None:
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        if process.pid is not None:
            process.join(_END_TIMEOUT_S)
            if process.is_alive():
                process.kill()
                process.join()
            orphans.ended(process.pid)


def _run(
    work: Work, arguments: tuple[Any, ...], rank: int, count: int, group: bool, folder: str, steps: Any
) -> None:
    """The body of a process: ends with 0, 2 after a user error, or 1 after any other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us

    def progress(step: int) -> None:
        steps[rank] = step

    warnings.simplefilter("ignore")  # of torch, about itself
    place = Path(folder)
    try:
        with _group(rank, count, place) if group else contextlib.nullcontext():
            result = work(*arguments, rank, count, progress)
    except Exception as error:
        (place / f"{rank}.error").write_text(" ".join(str(error).split())[:500])
        if isinstance(error, InputError):
            os._exit(_USER_ERROR)
        if os.environ.get("DSE_TRACEBACK"):
            traceback.print_exc(file=sys.stderr)
        os._exit(1)
    temporary = place / f"{rank}.writing"
    temporary.write_bytes(pickle.dumps(result))
    temporary.rename(place / f"{rank}.result")
    os._exit(0)  # threads of a process group must not hold it back


@contextlib.contextmanager
def _group(rank: int, count: int, folder: Path) -> Any:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    has_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= count
    store = dist.FileStore(str(folder / "store"), count)
    dist.init_process_group(
        "nccl" if has_gpus else "gloo",
        store=store,
        rank=rank,
        world_size=count,
        timeout=timedelta(seconds=_GROUP_TIMEOUT_S),
    )
    yield
    dist.barrier()


# The others wait while one process trains alone.
_GROUP_TIMEOUT = timedelta(hours=1)


def launched_rank() -> int | None:
    """Return the rank that torchrun gave this process; None where torchrun did not start it."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    return int(os.environ["RANK"])


def launched_processes() -> int:
    """Return how many processes torchrun started on all hosts."""
    return int(os.environ["WORLD_SIZE"])


def processes_per_host(processes: int) -> int:
    """Return how many of the processes of a job are on this host."""
    return processes if launched_rank() is None else int(os.environ.get("LOCAL_WORLD_SIZE", processes))


def run_launched(
    work: Callable[..., Any], count: int, arguments: tuple[Any, ...], *, group: bool
) -> list[Any]:
    """Do the part of this process, or leave work without a group to the first; return the results of all.

    Raises:
        InputError: torchrun started another number of processes.
    """
    rank, processes = launched_rank(), launched_processes()
    if group and count != processes:
        raise InputError(
            f"torchrun started {processes} processes and the job has {count}; "
            "nnodes times nproc-per-node must be the replicas of all its stages"
        )
    if not dist.is_initialized():
        has_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= processes_per_host(processes)
        dist.init_process_group("nccl" if has_gpus else "gloo", timeout=_GROUP_TIMEOUT)
    result = work(*arguments, rank, count, _ignored) if group or rank == 0 else None
    results = [None] * processes
    dist.all_gather_object(results, result)
    return results[:count]


def _ignored(step: int) -> None:
    """Take the step that a process is in: torchrun names a process that dies itself."""
