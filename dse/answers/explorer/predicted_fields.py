"""The figures of a predicted scenario as fields of the page: what predictions follow, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.answers.explorer.field import Field, choice_field, integer_field, number_field, positive_field
from dse.answers.explorer.fields import SAFE_INTEGER
from dse.answers.explorer.run_data import run_fields
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.asked import AskedRun
from dse.prediction.steps.frameworks import framework_names

MOST_NPUS = 2**17

_SHARES = (
    ("matrix", "share of the peak in 16 bit"),
    ("matrix_8bit", "share of the peak in 8 bit"),
    ("attention", "share of the peak in attention"),
    ("memory", "share of the memory bandwidth"),
    ("links", "share of the links"),
)


def predicted_fields(
    model: ModelSpec, system: SystemSpec, choices: Mapping[str, Sequence[Any] | None], run: AskedRun
) -> list[Field]:
    """Return the fields of a model, of what all plans have alike, of a training run, and of a cluster."""
    return [
        *_of_model(model),
        *_of_choices(system, choices),
        *run_fields(run, system.name),
        *cluster_fields(system),
    ]


def cluster_fields(system: SystemSpec) -> list[Field]:
    """Return the fields of a cluster: its nodes, its accelerator and its tiers."""
    assert system.accelerator is not None
    assert system.nodes is not None
    assert system.npus_per_node is not None
    most = MOST_NPUS // system.npus_per_node
    nodes = integer_field(("system", "nodes"), "nodes", "Cluster", "", system.nodes, 1, most)
    return [nodes, *_of_accelerator(system), *_of_tiers(system)]


def _of_model(model: ModelSpec) -> Iterator[Field]:
    for name, label, unit in (
        ("batch_size", "global batch", "sequences"),
        ("seq_len", "sequence length", "tokens"),
    ):
        yield integer_field(("model", name), label, "Training", unit, getattr(model, name), 1, SAFE_INTEGER)


def _of_choices(system: SystemSpec, choices: Mapping[str, Sequence[Any] | None]) -> Iterator[Field]:
    """Fields of axes that have one value: with several they are axes of the plots."""
    assert system.accelerator is not None
    peaks = system.accelerator.peak_tflops
    known = {
        "framework": framework_names(),
        "precision": [name for name, recipe in PRECISIONS.items() if recipe.format in peaks],
    }
    for name, names in known.items():
        listed = choices[name] or ()
        if len(listed) == 1:
            own = str(listed[0])
            found = choice_field(
                ("choices", name), name, "Training", own, names if own in names else [own, *names]
            )
            yield replace(found, key=f"space.{name}")


def _of_accelerator(system: SystemSpec) -> Iterator[Field]:
    found = system.accelerator
    assert found is not None
    path = ("system", "accelerator")
    for name, tflops in found.peak_tflops.items():
        if name in {recipe.format for recipe in PRECISIONS.values()}:
            label = f"peak in {name}"
            yield positive_field((*path, "peak_tflops", name), label, "Accelerator", "TFLOPS", tflops)
    rate = (*path, "memory_bandwidth_gbps"), "memory bandwidth", "Accelerator", "GB/s"
    yield positive_field(*rate, found.memory_bandwidth_gbps)
    for name, label in _SHARES:
        share = (*path, "efficiency", name), label, "Accelerator", ""
        yield replace(
            number_field(*share, getattr(found.efficiency, name), 0.01, 1),
            allowed="a number from 0.01 to 1",
        )
    launch = (*path, "efficiency", "launch_us"), "time of a launch", "Accelerator", "µs"
    yield number_field(*launch, found.efficiency.launch_us, 0, 1000)


def _of_tiers(system: SystemSpec) -> Iterator[Field]:
    for index, tier in enumerate(system.tiers):
        path = ("system", "tiers", index)
        if tier.bandwidth_gbps is not None:
            rate = (*path, "bandwidth_gbps"), f"{tier.name}: bandwidth of an NPU", "Network", "GB/s"
            yield positive_field(*rate, tier.bandwidth_gbps)
        if tier.nic_gbit_per_s is not None:
            nic = (*path, "nic_gbit_per_s"), f"{tier.name}: rate of a NIC", "Network", "Gb/s"
            yield positive_field(*nic, tier.nic_gbit_per_s)
        latency = (*path, "latency_us"), f"{tier.name}: latency", "Network", "µs"
        yield number_field(*latency, tier.latency_us, 0, 1000)
