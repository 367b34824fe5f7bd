"""The columns of a table of points: the axes that differ, times, memory, and what the time is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dse.answers.conventions import convention_of, shown_mfu
from dse.base.units import format_bytes, format_count, format_duration_ns, format_time
from dse.inputs.strategies import StrategyAxis, shown_axes, strategy_values
from dse.studies.store.schema import StudyRow

EMPTY = "-"
"""The cell of a value that there is not."""


class Shown(NamedTuple):
    """A column: the two lines of its heading, and the cell of a point."""

    heading: tuple[str, str]
    cell: Callable[[StudyRow], str]


def shown_columns(points: Sequence[StudyRow], *, exact: bool = False) -> list[Shown]:
    """Return the columns that a table of these points needs; `exact` as for `dse.answers.render`.

    Left out is the utilisation of compute time where no point has one, and of predictions an axis of traces
    in which all have the default.
    """
    utilisation = (
        [] if points and all(row.compute_utilization_pct is None for row in points) else [_UTILISATION]
    )
    return [
        *[Shown(axis.heading, _axis_cell(axis)) for axis in axes_of_points(points)],
        *(_EXACT if exact else _ROUNDED),
        _EXPOSED,
        *utilisation,
        *_WORTH,
        *[column for name, column in RUN.items() if any(getattr(row, name) is not None for row in points)],
    ]


def axes_of_points(points: Sequence[StudyRow]) -> tuple[StrategyAxis, ...]:
    """Return the axes that a table of these points needs."""
    axes = shown_axes(map(strategy_values, points))
    unused = [set(convention_of(row).idle_axes) for row in points]
    named = set.intersection(*unused) if unused else set()
    idle = [name for name in named if all(getattr(row, name) in (False, 1) for row in points)]
    return tuple([axis for axis in axes if axis.name not in idle])


def percentage(part: int | None, whole: int | None) -> str:
    """Return a share in per cent."""
    return EMPTY if part is None or not whole else f"{100 * part / whole:.1f}"


def _axis_cell(axis: StrategyAxis) -> Callable[[StudyRow], str]:
    return lambda row: axis.cell(getattr(row, axis.name))


def _or_empty(value: float | None, shown: Callable[[float], str]) -> str:
    return EMPTY if value is None else shown(value)


def _one_digit(value: float) -> str:
    return f"{value:.1f}"


_ROUNDED = (
    Shown(("wall time", ""), lambda row: format_duration_ns(row.wall_time_ns or 0)),
    Shown(("peak", "memory"), lambda row: _or_empty(row.peak_memory_bytes, format_bytes)),
)
_EXACT = (
    Shown(("wall time", "ns"), lambda row: str(row.wall_time_ns or 0)),
    Shown(("peak", "bytes"), lambda row: _or_empty(row.peak_memory_bytes, str)),
)
_EXPOSED = Shown(("exposed", "comm %"), lambda row: percentage(row.exposed_comm_ns, row.wall_time_ns))
_UTILISATION = Shown(("compute", "util. %"), lambda row: _or_empty(row.compute_utilization_pct, _one_digit))
RUN = {
    "run_time_s": Shown(("run", "time"), lambda row: _or_empty(row.run_time_s, format_time)),
    "run_effective_pct": Shown(
        ("effect-", "ive %"), lambda row: _or_empty(row.run_effective_pct, "{:.1f}".format)
    ),
    "run_cost": Shown(("run", "cost"), lambda row: _or_empty(row.run_cost, format_count)),
    "run_energy_mwh": Shown(("energy", "MWh"), lambda row: _or_empty(row.run_energy_mwh, format_count)),
}
_WORTH = (
    Shown(("MFU", "%"), lambda row: _or_empty(shown_mfu(row), _one_digit)),
    Shown(("tokens", "per s"), lambda row: _or_empty(row.tokens_per_s, format_count)),
)
