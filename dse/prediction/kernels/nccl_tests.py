"""The text that nccl-tests prints, as a table of collectives."""

from __future__ import annotations

import numpy as np

from dse.inputs.machines.nccl_tests import CollectiveTimes
from dse.prediction.kernels.tables import KernelTable


def table_of_times(times: CollectiveTimes) -> KernelTable:
    """Return the rows of one output, of collectives in the domain of a GPU: their `system` is empty."""
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
