"""Energy and emissions of a training run, by the engine."""

from __future__ import annotations

import math

from dse.native import _engine
from dse.prediction.runs.power import Bounds, Energy, Facility, require_power
from dse.prediction.runs.run import Run

_JOULES_PER_MWH = 3.6e9


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
