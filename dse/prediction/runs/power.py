"""Power of a training run: boards, hosts, the facility and the grid; figures with their ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.base.errors import InputError

if TYPE_CHECKING:
    from dse.inputs.accelerators import Accelerator


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
