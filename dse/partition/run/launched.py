"""Processes that torchrun started, on one host or several: they do the work of a job in place of own ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from dse.base.errors import InputError

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
    import torch
    import torch.distributed as dist

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
