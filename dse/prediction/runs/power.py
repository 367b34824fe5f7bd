"""Energy and emissions of a training run: power by phase, hosts, the facility and the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.native import _engine

if TYPE_CHECKING:
    from dse.inputs.accelerators import Accelerator
    from dse.prediction.runs.run import Run

_JOULES_PER_MWH = 3.6e9


@dataclass(frozen=True)
class Bounds:
    """A figure, and from where to where it lies in 80 % of cases; `low` and `high` None where unknown."""

    value: float
    low: float | None = None
    high: float | None = None


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
    cluster = run.question.cluster
    time_s = run.time_s
    ends_s = (time_s.value, time_s.low or math.nan, time_s.high or math.nan)
    own = (facility.host_w, facility.pue, facility.at_limit)
    found = _engine.run_energy_mwh(
        list(run.parts_s.values()), ends_s, *own, require_power(cluster.accelerator), cluster.npus
    )
    energy, grid = Bounds(*found), facility.grid_kg_per_kwh
    emissions = None if grid is None else Bounds(*[value * grid for value in found])
    return Energy(energy, energy.value * _JOULES_PER_MWH / time_s.value / 1e6, emissions)


def require_power(chip: Accelerator) -> float:
    """Return the limit of an accelerator's board in watts.

    Raises:
        InputError: it is unknown.
    """
    if chip.board_power_w is None:
        raise InputError(
            f"accelerator {chip.name} has no board_power_w, so its energy is unknown; give it in a file of "
            "your own, with its source: system.accelerator=mine.yaml"
        )
    return chip.board_power_w
