"""A prediction: the time of a step in parts that sum exactly, and the peak memory by category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.prediction.intervals.interval import Interval

PARTS = (
    "matrix_products",
    "attention",
    "memory_bound",
    "launches",
    "tp",
    "cp",
    "ep",
    "pp_bubble",
    "p2p",
    "dp",
    "optimizer",
)
CATEGORIES = ("weights", "gradients", "optimizer", "activations", "communication", "workspace", "reserve")
"""The categories of memory, in their order."""
PREDICTION_VERSION = 11
"""Raised whenever a prediction of the same inputs may change: stored ones are then made again."""


@dataclass(frozen=True)
class Prediction:
    """`step_s` is the sum of `parts_s`; `peak_memory_bytes` that of `memory_bytes`, of the fullest stage.

    `interval` says where unseen steps of this kind came out; None where nothing was measured.
    """

    step_s: float
    parts_s: Mapping[str, float]
    peak_memory_bytes: int
    memory_bytes: Mapping[str, int]
    bubble_share: float
    model_flops: float
    notes: tuple[str, ...] = ()
    interval: Interval | None = None

    @property
    def range_s(self) -> tuple[float, float] | None:
        """From when to when 80 % of steps of this kind end; None where nothing was measured."""
        if self.interval is None:
            return None
        return self.step_s * self.interval.low, self.step_s * self.interval.high
