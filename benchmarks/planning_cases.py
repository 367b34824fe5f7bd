"""Searches of plans that are measured: the clusters of the reference table, half A100 and half V100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Planned:
    """A cluster of four GPUs a host, a planner, its count, and how much faster than Metis it should be.

    For `exact` instead: whether stages may have several types, the known optimum, and the CPU time in which
    it should be proven.
    """

    layers: int
    gpus: int
    planner: str
    count: int | None
    target_ratio: int | None = None
    mixed: bool = True
    best_ms: float | None = None
    target_s: float | None = None

    @property
    def name(self) -> str:
        """As the recorded figures have it."""
        return f"{self.layers} layers, {self.gpus} GPUs"


def full() -> Sequence[Planned]:
    """All rows of the table, by both walks, and by the exact search with and without mixed stages."""
    return [
        Planned(10, 32, "metis", 612),
        Planned(20, 64, "metis", 58078, 150),
        Planned(20, 128, "metis", 3734),
        Planned(40, 256, "metis", 1714619, 400),
        Planned(10, 32, "metis-strat", 562),
        Planned(20, 64, "metis-strat", 41208, 150),
        Planned(20, 128, "metis-strat", 3482),
        Planned(40, 256, "metis-strat", 1553492, 400),
        _exact(10, 32, 1795.4520359635353, 0.005),
        _exact(20, 64, 1615.9578934311867, 0.05),
        _exact(20, 128, 808.5008092224598, 0.005),
        _exact(40, 256, 1150.1214034168618, 0.5),
        _exact(10, 32, 2345.625866869221, 0.005, mixed=False),
        _exact(20, 64, 2327.952199631411, 0.05, mixed=False),
        _exact(20, 128, 1180.8496130789104, 0.005, mixed=False),
        _exact(40, 256, 1187.7972896555843, 0.5, mixed=False),
    ]


def quick() -> Sequence[Planned]:
    """The smallest row."""
    return [planned for planned in full() if planned.gpus == 32]


def _exact(layers: int, gpus: int, best_ms: float, target_s: float, mixed: bool = True) -> Planned:
    return Planned(layers, gpus, "exact", None, mixed=mixed, best_ms=best_ms, target_s=target_s)
