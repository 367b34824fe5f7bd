"""Energy and emissions of a training run: power by phase, hosts, the facility and the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.base.errors import InputError
from dse.prediction.runs.run import Bounds, Run

PHASES = {"computing": (0.9, 1.0, 1.05), "communicating": (0.2, 0.5, 0.75), "idle": (0.1, 0.2, 0.3)}
"""Shares of the board's limit: low, expected, high. Patel et al. 2024 (ASPLOS), training on A100: peaks near
the limit, troughs of communication between 20 and 75 % of it. The bounds of idling are an assumption."""

_PHASE_OF_PART = {
    "compute": "computing",
    "lost work": "computing",
    "exposed communication": "communicating",
    "pipeline bubble": "communicating",
}
_JOULES_PER_MWH = 3.6e9


@dataclass(frozen=True)
class Facility:
    """`host_w` is the power of a host for each of its NPUs, besides boards; `pue` is the facility's factor.

    `grid_kg_per_kwh` are emissions of the grid, None where they are not asked for. With `at_limit` every
    board takes its limit all the time, as model cards count.
    """

    host_w: float = 0.0
    pue: float = 1.0
    grid_kg_per_kwh: float | None = None
    at_limit: bool = False

    def __post_init__(self) -> None:
        """Check the figures."""
        if not 0 <= self.host_w < math.inf:
            raise InputError(f"host_w is {self.host_w}; it must be a number of at least 0")
        if not 1 <= self.pue < math.inf:
            raise InputError(f"pue is {self.pue}; it must be a number of at least 1")
        if self.grid_kg_per_kwh is not None and not 0 <= self.grid_kg_per_kwh < math.inf:
            raise InputError(f"grid is {self.grid_kg_per_kwh}; it must be a number of at least 0")


@dataclass(frozen=True)
class Energy:
    """Energy of the facility in MWh, its mean power in MW, and emissions in tonnes of CO2 equivalents."""

    energy_mwh: Bounds
    mean_power_mw: float
    emissions_t: Bounds | None


def energy_of(run: Run, facility: Facility) -> Energy:
    """Return the energy of a run; its bounds have time and power at the same end.

    Raises:
        InputError: the limit of the board is unknown.
    """
    chip = run.question.cluster.accelerator
    if chip.board_power_w is None:
        raise InputError(
            f"accelerator {chip.name} has no board_power_w, so its energy is unknown; give it in a file of "
            "your own, with its source: system.accelerator=mine.yaml"
        )
    time_s = run.time_s
    ends = [
        _energy_mwh(run, chip.board_power_w, facility, place, end_s / time_s.value)
        for place, end_s in enumerate((time_s.low or time_s.value, time_s.value, time_s.high or time_s.value))
    ]
    energy = Bounds(ends[1], ends[0], ends[2])
    emissions = None
    if (grid := facility.grid_kg_per_kwh) is not None:
        emissions = Bounds(*[value * grid for value in (ends[1], ends[0], ends[2])])
    return Energy(energy, ends[1] * _JOULES_PER_MWH / time_s.value / 1e6, emissions)


def _energy_mwh(run: Run, limit_w: float, facility: Facility, place: int, longer: float) -> float:
    watts = [
        1.0 if facility.at_limit else PHASES[_PHASE_OF_PART.get(name, "idle")][place] for name in run.parts_s
    ]
    boards_s = sum(share * seconds for share, seconds in zip(watts, run.parts_s.values(), strict=True))
    joules = boards_s * limit_w + facility.host_w * run.time_s.value
    return joules * longer * facility.pue * run.question.cluster.npus / _JOULES_PER_MWH
