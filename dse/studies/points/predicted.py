"""Points that the predictor answers from the structure of a step, and their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.inputs.models import ModelSpec
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.prediction import PARTS, Prediction
from dse.prediction.steps.strategies import plan_of

if TYPE_CHECKING:
    from dse.inputs.accelerators import Cluster
    from dse.studies.points.point import DesignPoint

COMPUTE_PARTS = ("matrix_products", "attention", "memory_bound", "launches", "optimizer")
"""The parts of a prediction in which an NPU computes; the others are communication and waiting."""


def predict_point(point: DesignPoint) -> Prediction:
    """Return the prediction of a point.

    Raises:
        InfeasibleStrategy: the strategy cannot run, or does not fill the system.
        InputError: a setting of the scenario has no effect on predictions.
    """
    from dse.prediction.steps.predict import predict

    return predict(*prediction_inputs(point))


def prediction_inputs(point: DesignPoint) -> tuple[ModelSpec, Plan, Cluster]:
    """Return what `dse.prediction.steps.predict` takes.

    Raises:
        InfeasibleStrategy, InputError: as `predict_point`.
    """
    on = point.scenario
    cluster = on.system.cluster
    assert cluster is not None
    on.check()
    return on.model, plan_of(on.model, point.strategy), cluster


def parts_ns(prediction: Prediction) -> dict[str, int]:
    """Return the parts in whole ns; they sum to `wall_time_ns` exactly.

    Each is rounded down; what is missing goes to those that lost most, 1 ns each.
    """
    exact = {name: prediction.parts_s[name] * 1e9 for name in PARTS}
    found = {name: int(ns) for name, ns in exact.items()}
    missing = wall_time_ns(prediction) - sum(found.values())
    by_loss = sorted(PARTS, key=lambda name: found[name] - exact[name])
    for place in range(abs(missing)):
        found[by_loss[place % len(PARTS)]] += 1 if missing > 0 else -1
    return found


def wall_time_ns(prediction: Prediction) -> int:
    """Return the time of a step in whole ns."""
    return round(prediction.step_s * 1e9)


def metrics(point: DesignPoint, prediction: Prediction) -> dict[str, Any]:
    """Return the columns of the row of a prediction; what only an engine measures is left out.

    The time that is exposed is all in which no NPU of the decisive stage computes, bubbles included.
    """
    on = point.scenario
    wall = wall_time_ns(prediction)
    gpu = sum(ns for name, ns in parts_ns(prediction).items() if name in COMPUTE_PARTS)
    tokens = on.model.batch_size * on.model.seq_len * 1e9 / wall if wall else None
    possible = on.system.peak_tflops * 1e3 * wall * on.system.npus  # a TFLOPS is 10^3 operations per ns
    return {
        "wall_time_ns": wall,
        "gpu_time_ns": gpu,
        "exposed_comm_ns": wall - gpu,
        "peak_memory_bytes": prediction.peak_memory_bytes,
        "mfu_pct": 100 * prediction.model_flops / possible if possible else None,
        "tokens_per_s": tokens,
        "tokens_per_s_per_npu": None if tokens is None else tokens / on.system.npus,
        "prediction_notes": "; ".join(prediction.notes) or None,
    }
