"""Where the time and the memory of a predicted point go: the predictor says it, part by part."""

from __future__ import annotations

from dse.answers.explain.breakdown import PARTS, Breakdown
from dse.answers.explain.explanation import Explanation
from dse.answers.explain.memory import CATEGORIES, MemoryAtPeak
from dse.prediction.steps.details import collectives_used
from dse.studies.points import DesignPoint, prediction_of
from dse.studies.points.methods.predicted_columns import parts_ns, range_ns, wall_time_ns
from dse.studies.points.methods.prediction import prediction_inputs

PREDICTED_PARTS = {
    "matrix_products": "products with weights, in the forward and backward pass, and recomputed ones",
    "attention": "scores and values of attention",
    "memory_bound": "kernels bound by memory: elementwise ones, norms, the loss",
    "launches": "the NPU waits for kernels to be launched",
    "tp": "tensor-parallel collectives, not hidden",
    "cp": "keys and values under context parallelism, not hidden",
    "ep": "tokens on their way to experts and back, not hidden",
    "pp_bubble": "waiting for micro-batches of other pipeline stages",
    "p2p": "messages between pipeline stages, not hidden",
    "dp": "gradients and sharded weights under data parallelism, not hidden",
    "optimizer": "update of the weights",
}
PREDICTED_CATEGORIES = {
    "weights": "weights",
    "gradients": "gradients of weights",
    "optimizer": "states of the optimiser, with master weights",
    "activations": "what the backward pass needs, of all micro-batches in flight",
    "communication": "buffers of collectives",
    "workspace": "temporary results of kernels",
    "reserve": "what the allocator holds beyond that, and the context of the device",
}
MEANINGS = PREDICTED_PARTS | PARTS
"""What the parts of any explanation are."""

CATEGORY_MEANINGS = PREDICTED_CATEGORIES | CATEGORIES
"""What the categories of any explanation are."""


def explain_prediction(point: DesignPoint) -> Explanation:
    """Explain a predicted point.

    The parts sum to the wall time of its row, and the categories to its peak memory, exactly. Nothing
    overlaps in them: of what hides behind something else only the rest is a part.

    Raises:
        InfeasibleStrategy, InputError: as `prediction_of`.
    """
    prediction = prediction_of(point)
    memory = {name: prediction.memory_bytes[name] for name in PREDICTED_CATEGORIES}
    return Explanation(
        label=point.strategy.label(),
        time=Breakdown(None, wall_time_ns(prediction), parts_ns(prediction), {}),
        memory=MemoryAtPeak(None, prediction.peak_memory_bytes, None, None, None, memory, ()),
        notes=tuple(prediction.notes),
        collectives=collectives_used(*prediction_inputs(point)),
        range_ns=range_ns(prediction),
    )
