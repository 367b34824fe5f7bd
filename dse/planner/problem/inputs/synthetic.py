"""Synthetic inputs: profiles grown from measured samples, and clusters half of one GPU type, half of another.

The rule keeps the measured tensor degrees and batches 1, 2 and 4; above, twice the batch takes twice the
time, and twice the tensor degree half of it. Optimizer and batch generator do not change any more.
"""

from __future__ import annotations

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
SAMPLES = {
    (1, 1): Sample(
        0.2892017364501953,
        29.507994651794434,
        0.4100799560546875,
        292.7964687347412,
        39.308977127075195,
        0.9145021438598633,
    ),
    (1, 2): Sample(
        0.6282329559326172,
        58.86340141296387,
        0.6556510925292969,
        580.2594184875488,
        39.59686756134033,
        1.1479616165161133,
    ),
    (1, 4): Sample(
        1.0962486267089844,
        116.56570434570312,
        1.066446304321289,
        1143.9790725708008,
        39.47432041168213,
        1.0437250137329102,
    ),
    (2, 1): Sample(
        1.1625289916992188,
        16.83783531188965,
        0.3528594970703125,
        167.60022640228271,
        20.2700138092041,
        0.9002208709716797,
    ),
    (2, 2): Sample(
        1.7201900482177734,
        32.2415828704834,
        0.469207763671875,
        313.36352825164795,
        20.301532745361328,
        1.025700569152832,
    ),
    (2, 4): Sample(
        2.507448196411133,
        63.25173377990723,
        0.6699562072753906,
        611.6964817047119,
        20.454931259155273,
        0.9355545043945312,
    ),
    (4, 1): Sample(
        1.0263919830322266,
        10.216951370239258,
        0.3376007080078125,
        99.9199390411377,
        10.814285278320312,
        0.9341955184936523,
    ),
    (4, 2): Sample(
        1.8298625946044922,
        19.173383712768555,
        0.4038810729980469,
        179.92208003997803,
        10.793113708496094,
        0.9298801422119141,
    ),
    (4, 4): Sample(
        2.949237823486328,
        35.823822021484375,
        0.67901611328125,
        335.2949619293213,
        10.96353530883789,
        0.9746074676513672,
    ),
}
"""By tensor degree and batch."""

MEMORY_MB = (7820, 4146, 12132)
"""Of the first, a middle and the last layer."""
PARAMETERS_BYTES = (393216000, 202383360, 393220096)
"""Of the first, a middle and the last layer."""


SLOWER = {"A100": 1.0, "V100": 3.5}
"""By what the times of a type are multiplied; the samples are of an A100."""

_MOST = 2**20
_MEASURED = max(batch for _, batch in SAMPLES)
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
    degrees = powers_of_two(max_tp)
    batches = powers_of_two(batch)
    for tp in degrees:
        for bs in batches:
            if tp > _MEASURED:
                entries[tp, bs] = _scaled(entries[tp // 2, bs], 0.5)
            elif bs > _MEASURED:
                entries[tp, bs] = _scaled(entries[tp, bs // 2], 2.0)
            else:
                entries[tp, bs] = _measured(SAMPLES[tp, bs], layers)
    return entries


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
