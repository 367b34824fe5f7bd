"""Synthetic inputs: profiles grown from measured samples, and clusters half of one GPU type, half of another.

The rule keeps the measured tensor degrees and batches 1, 2 and 4; above, twice the batch takes twice the
time, and twice the tensor degree half of it. Optimizer and batch generator do not change any more.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.files import make_folder, write_atomically
from dse.base.numbers import powers_of_two
from dse.planner.problem.inputs.profile_files import FILE_NAME
from dse.planner.problem.problem import plain_sum


class Sample(NamedTuple):
    """Times in ms for one tensor degree and batch: layers, a whole pass, an optimizer step, a batch."""

    first_layer_ms: float
    middle_layer_ms: float
    last_layer_ms: float
    forward_backward_ms: float
    optimizer_ms: float
    batch_generator_ms: float


LAYERS = 10
_FILE = Path(__file__).parent / "data" / "samples.csv"

MEMORY_MB = (7820, 4146, 12132)
"""Of the first, a middle and the last layer."""
PARAMETERS_BYTES = (393216000, 202383360, 393220096)
"""Of the first, a middle and the last layer."""


SLOWER = {"A100": 1.0, "V100": 3.5}
"""By what the times of a type are multiplied; the samples are of an A100."""

_MOST = 2**20
_NODES = {
    "V100": (
        "0.0.0.1",
        {"instance_type": "V100", "inter_bandwidth": 10, "intra_bandwidth": 50, "memory": 16},
    ),
    "A100": (
        "0.0.0.4",
        {"instance_type": "A100", "inter_bandwidth": 10, "intra_bandwidth": 46, "memory": 80},
    ),
}


def write_synthetic_profiles(
    folder: Path,
    layers: int,
    batch: int = 128,
    max_tp: int | None = None,
    slower: Mapping[str, float] = SLOWER,
) -> int:
    """Write a profile for every type, tensor degree up to `max_tp` and batch up to `batch`, in powers of two.

    `max_tp` is `batch` if it is None. `slower` gives the types and their factors. Returns the number of
    files.

    Raises:
        InputError: a number that cannot be, or the folder cannot be written.
    """
    max_tp = batch if max_tp is None else max_tp
    for key, value, least in (("layers", layers, 2), ("batch", batch, 1), ("max_tp", max_tp, 1)):
        if not least <= value <= _MOST:
            raise InputError(f"{key}={value}: must be {least} to {_MOST}")
    for type_, factor in slower.items():
        if not 0 < factor < float("inf"):
            raise InputError(f"slower.{type_}={factor}: must be a positive number")
    make_folder(folder)
    entries = _entries(layers, batch, max_tp)
    for type_, factor in slower.items():
        for (tp, bs), (times, forward_backward, optimizer, generator) in entries.items():
            content = {
                "model": _model(layers),
                "execution_time": {
                    "forward_backward_time_ms": forward_backward * factor,
                    "batch_generator_time_ms": generator * factor,
                    "optimizer_time_ms": optimizer * factor,
                    "layer_compute_total_ms": [ms * factor for ms in times],
                },
                "execution_memory": _memory(layers),
            }
            file = folder / FILE_NAME.format(type=type_, tp=tp, batch=bs)
            write_atomically(file, (json.dumps(content, indent=2) + "\n").encode())
    return len(slower) * len(entries)


def write_half_and_half(hostfile: Path, clusterfile: Path, gpus: int, gpus_per_host: int = 4) -> None:
    """Write a cluster whose first half of hosts has V100, the other half A100.

    Raises:
        InputError: the GPUs do not fill an even number of hosts, or a file cannot be written.
    """
    if not 1 <= gpus_per_host <= 9:
        raise InputError(f"gpus_per_host={gpus_per_host}: must be 1 to 9, one digit of slots")
    if not 0 < gpus <= _MOST or gpus % (2 * gpus_per_host):
        raise InputError(
            f"gpus={gpus}: must be a multiple of {2 * gpus_per_host}: two halves of whole hosts with "
            f"{gpus_per_host} GPUs each"
        )
    hosts = gpus // gpus_per_host // 2
    lines = [f"{address} slots={gpus_per_host}\n" * hosts for address, _ in _NODES.values()]
    write_atomically(hostfile, "".join(lines).encode())
    write_atomically(clusterfile, (json.dumps(dict(_NODES.values()), indent=4) + "\n").encode())


_Entry = tuple[list[float], float, float, float]  # layers, forward-backward, optimizer, batch generator


def _entries(layers: int, batch: int, max_tp: int) -> dict[tuple[int, int], _Entry]:
    """Return the entries of the samples' own type by tensor degree and batch."""
    entries: dict[tuple[int, int], _Entry] = {}
    samples = _samples()
    measured = max(bs for _, bs in samples)
    degrees = powers_of_two(max_tp)
    batches = powers_of_two(batch)
    for tp in degrees:
        for bs in batches:
            if tp > measured:
                entries[tp, bs] = _scaled(entries[tp // 2, bs], 0.5)
            elif bs > measured:
                entries[tp, bs] = _scaled(entries[tp, bs // 2], 2.0)
            else:
                entries[tp, bs] = _measured(samples[tp, bs], layers)
    return entries


def _samples() -> dict[tuple[int, int], Sample]:
    """Return the measured samples by tensor degree and batch."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["tp"]), int(row["batch"])): Sample(*(float(row[name]) for name in Sample._fields))
            for row in csv.DictReader(file)
        }


def _measured(sample: Sample, layers: int) -> _Entry:
    first, middle, last = sample[:3]
    between = sample.forward_backward_ms - plain_sum([first, *[middle] * (LAYERS - 2), last])
    times = [first, *[middle] * (layers - 2), last]
    optimizer = sample.optimizer_ms / LAYERS * layers
    return times, between + plain_sum(times), optimizer, sample.batch_generator_ms


def _scaled(entry: _Entry, factor: float) -> _Entry:
    times, forward_backward, optimizer, generator = entry
    return [ms * factor for ms in times], forward_backward * factor, optimizer, generator


def _model(layers: int) -> dict[str, object]:
    first, middle, last = PARAMETERS_BYTES
    parameters = [first, *[middle] * (layers - 2), last]
    return {
        "model_name": "GPT3",
        "num_layers": layers,
        "parameters": {
            "total_parameters_bytes": sum(parameters),
            "parameters_per_layer_bytes": parameters,
        },
    }


def _memory(layers: int) -> dict[str, object]:
    first, middle, last = MEMORY_MB
    memory = [first, *[middle] * (layers - 2), last]
    return {"total_memory": sum(memory), "layer_memory_total_mb": memory}
