"""The text that nccl-tests prints, as a table of collectives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.inputs.machines.nccl_tests import CollectiveTimes, read_collective_times
from dse.prediction.kernels.tables import KernelTable


def read_nccl_tests(path: Path) -> KernelTable:
    """Return the rows that all_reduce_perf and the like printed: times out of place, a row per size.

    Raises:
        InputError: as `dse.inputs.machines.nccl_tests.read_collective_times`.
    """
    return table_of_times(read_collective_times(path))


def table_of_times(times: CollectiveTimes) -> KernelTable:
    """Return the rows of one output."""
    count = len(times.rows)
    return KernelTable(
        "nccl",
        times.path,
        {
            "op": np.array([times.operation] * count),
            "system": np.array([""] * count),
            "lib": np.array(["nccl"] * count),
            "gpus": np.full(count, float(times.ranks)),
            "bytes": np.array([size for size, _ in times.rows]),
            "us": np.array([time for _, time in times.rows]),
        },
    )
