"""Tokens per second and model FLOPs utilisation: what a step of the model is worth, over its wall time."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from dse.inputs.models import ModelSpec, counted_operations
from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.simulation.costs.operators import operators
from dse.studies.points.methods.method import Point


@dataclass(frozen=True)
class ModelUtilization:
    """MFU in per cent and what it counts; or None and why no figure can be trusted."""

    percent: float | None
    note: str


@functools.lru_cache(maxsize=256)
def model_operations(model: ModelSpec) -> int:
    """Return the operations of one step of the model: those of its graph on one NPU without recompute.

    What a strategy adds, such as recomputed or duplicated work, is no part of it (Chowdhery et al. 2022, B).
    Under `realistic` it is 6 N D plus the attention scores to 0.1 % (docs/workload.md).
    """
    costs = operators(model, Strategy())
    return sum(cost.blocks * cost.times * int(cost.operations) for cost in costs)  # beyond 64 bits too


def model_utilization(point: Point, wall_time_ns: int, *, is_fractional: bool) -> ModelUtilization:
    """Return the operations of the model over `wall_time_ns` at the peak performance of all NPUs."""
    model, system = point.scenario.model, point.scenario.system
    if reason := _distrust(point, is_fractional):
        return ModelUtilization(None, reason)
    possible = system.peak_tflops * 1e3 * wall_time_ns * system.npus  # a TFLOPS is 10^3 operations per ns
    if possible <= 0:
        return ModelUtilization(None, "the step takes no time")
    note = counted_operations(multiply_add_as_two=model.resolved_repairs.multiply_add_as_two)
    return ModelUtilization(100 * model_operations(model) / possible, note)


def tokens_per_s(point: Point, wall_time_ns: int, *, is_fractional: bool) -> float | None:
    """Return the tokens of a step over its wall time; None where cut shards do less than the step needs."""
    if is_fractional or wall_time_ns <= 0:
        return None
    model = point.scenario.model
    return model.batch_size * model.seq_len * 1e9 / wall_time_ns


def throughput(point: Point, wall_time_ns: int, *, is_fractional: bool) -> dict[str, float | None]:
    """Return the columns of a row that say what its wall time is worth."""
    tokens = tokens_per_s(point, wall_time_ns, is_fractional=is_fractional)
    return {
        "mfu_pct": model_utilization(point, wall_time_ns, is_fractional=is_fractional).percent,
        "tokens_per_s": tokens,
        "tokens_per_s_per_npu": None if tokens is None else tokens / point.scenario.system.npus,
    }


def follows_peak(system: SystemSpec) -> bool:
    """Return whether compute times follow the peak performance."""
    return system.roofline_enabled and not system.replay_only


def _distrust(point: Point, is_fractional: bool) -> str:
    system = point.scenario.system
    if point.scenario.generator.is_external:
        return "the workload is that of another program, whose operations are not those of our graph"
    if is_fractional:
        return "shards are cut to whole numbers, so the step does less than the model needs"
    if not follows_peak(system):
        return (
            "compute times do not follow the peak performance (system.roofline_enabled, system.replay_only)"
        )
    return ""
