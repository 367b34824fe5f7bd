"""Searches of plans that are measured: the clusters of the reference table, half A100 and half V100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Planned:
    """A cluster of four GPUs a host, a planner, its count, and how much faster than Metis it should be."""

    layers: int
    gpus: int
    planner: str
    count: int | None
    target_ratio: int | None = None

    @property
    def name(self) -> str:
        """As the recorded figures have it."""
        return f"{self.layers} layers, {self.gpus} GPUs"


def full() -> Sequence[Planned]:
    """All rows of the table, by both walks."""
    return [
        Planned(10, 32, "metis", 612),
        Planned(20, 64, "metis", 58078, 150),
        Planned(20, 128, "metis", 3734),
        Planned(40, 256, "metis", 1714619, 400),
        Planned(10, 32, "metis-strat", 562),
        Planned(20, 64, "metis-strat", 41208, 150),
        Planned(20, 128, "metis-strat", 3482),
        Planned(40, 256, "metis-strat", 1553492, 400),
    ]


def quick() -> Sequence[Planned]:
    """The smallest row."""
    return [planned for planned in full() if planned.gpus == 32]
