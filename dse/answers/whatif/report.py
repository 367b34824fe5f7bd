"""Everything that is asked about one point: sensitivities, optima, switches; as a table, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from dse.answers.whatif.binding import Binding, binding_constraint
from dse.answers.whatif.candidates import Candidates
from dse.answers.whatif.parameters import parameters_named, parameters_of
from dse.answers.whatif.sensitivity import Optimum, Sensitivity, optima, sensitivity
from dse.answers.whatif.switch import LIMIT, Switch, cap_switches, switch_among
from dse.base.texts import aligned
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, strategy_of_row
from dse.studies.store import Rows, StudyRow

CSV_COLUMNS = (
    *("title", "key", "strategy", "memory_cap_bytes"),
    *("parameter", "value", "elasticity", "wall_time_ns"),
    *("factor", "value_at_factor", "wall_time_ns_at_factor", "winner_at_factor"),
    *("switch_value", "switch_factor", "switch_winner"),
)


@dataclass(frozen=True)
class Report:
    """The answers about one point, parameter by parameter in the same order.

    `optima`, `switches`, `cap_switches` and `binding` say what else could win. They are empty for a point
    that does not win itself, or if they were not asked for.
    """

    title: str
    row: StudyRow
    memory_cap_bytes: int | None
    winner: Strategy | None
    sensitivities: tuple[Sensitivity, ...]
    optima: tuple[tuple[Optimum, ...], ...] = ()
    switches: tuple[Switch | None, ...] = ()
    cap_switches: tuple[Switch | None, ...] = ()
    binding: Binding | None = None
    note: str = ""
    heading: str = ""

    @property
    def strategy(self) -> Strategy:
        """The strategy of the point."""
        return strategy_of_row(self.row)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        optimum_fields = [field.name for field in fields(Optimum)]
        return {
            "title": self.title,
            "key": self.row.key,
            "strategy": vars(self.strategy),
            "winner": _fields(self.winner),
            "wall_time_ns": self.row.wall_time_ns,
            "peak_memory_bytes": self.row.peak_memory_bytes,
            "memory_cap_bytes": self.memory_cap_bytes,
            **({"note": self.note} if self.note else {}),
            "binding": None if self.binding is None else self.binding.sentence(),
            "cap_switches": [_plain(switch) for switch in self.cap_switches],
            "parameters": [
                {
                    **entry.to_json(),
                    "optima": [
                        {name: _fields(getattr(optimum, name)) for name in optimum_fields}
                        for optimum in (self.optima[index] if self.optima else ())
                    ],
                    "switch": _plain(self.switches[index]) if self.switches else None,
                }
                for index, entry in enumerate(self.sensitivities)
            ],
        }


def report(
    title: str,
    rows: Rows,
    row: StudyRow,
    factors: Sequence[float],
    *,
    memory_cap_bytes: int | None = None,
    parameters: Sequence[str] = (),
    switches: bool = True,
    limit: float = LIMIT,
    note: str = "",
) -> Report:
    """Ask everything about the point of `row` among `rows`; `parameters` are keys, by default all.

    `note` says why it is this point.

    Raises:
        InputError: as `Candidates`, `sensitivity` and `parameters_named`.
    """
    candidates = Candidates(rows, row, memory_cap_bytes)
    system, method = candidates.scenario.system, candidates.scenario.method
    varied = parameters_named(system, parameters, method) if parameters else parameters_of(system, method)
    strategy, winner = strategy_of_row(row), strategy_of_row(candidates.winner)
    answers = tuple(sensitivity(DesignPoint(candidates.scenario, strategy), factors, varied))
    if strategy != winner or not switches:
        return Report(title, row, memory_cap_bytes, winner, answers, note=note)
    return Report(
        title,
        row,
        memory_cap_bytes,
        winner,
        answers,
        optima=tuple(tuple(optima(candidates, parameter, factors)) for parameter in varied),
        switches=tuple(switch_among(candidates, parameter, limit) for parameter in varied),
        cap_switches=() if row.peak_memory_bytes is None else cap_switches(candidates),
        binding=binding_constraint(candidates, answers),
        note="\n".join([text for text in (note, candidates.note) if text]),
    )


def render(report: Report) -> str:
    """The report as a table; a star stands at times at which another strategy wins."""
    peak = "" if report.row.peak_memory_bytes is None else f", {format_bytes(report.row.peak_memory_bytes)}"
    cap = "" if report.memory_cap_bytes is None else f", under {format_bytes(report.memory_cap_bytes)}"
    wall = _duration(report.row.wall_time_ns)
    lines = [
        report.heading or report.title,
        f"{report.strategy.label()}: {wall}{peak}{cap}, key {(report.row.key or '')[:8]}",
    ]
    if report.note:
        lines.insert(1, report.note)
    if report.binding is not None:
        lines.append(report.binding.sentence())
    elif report.winner is not None and report.winner != report.strategy:
        lines.append(f"does not win: {report.winner.label()} does")
    factors = [f"x{sample.factor:g}" for sample in report.sensitivities[0].samples]
    rows = [["system.", "value", "elasticity", *factors]]
    rows += [_cells(report, index) for index in range(len(report.sensitivities))]
    lines += ["", *aligned(rows)]
    if any(cell.endswith("*") for row in rows for cell in row):
        lines.append("* another strategy wins there")
    if report.switches:
        changes = [switch for switch in (*report.cap_switches, *report.switches) if switch is not None]
        lines += [
            "",
            "another strategy wins at",
            *aligned([_switch_cells(switch) for switch in changes], left=(0, 3)),
        ]
        never = [
            entry.parameter.key.removeprefix("system.")
            for entry, switch in zip(report.sensitivities, report.switches, strict=True)
            if switch is None
        ]
        if never:
            lines.append(f"  none within the limit: {', '.join(never)}")
    return "\n".join(lines)


def csv_rows(reports: Sequence[Report]) -> list[dict[str, object]]:
    """A row with `CSV_COLUMNS` for each point, parameter and factor."""
    rows = []
    for report in reports:
        for index, entry in enumerate(report.sensitivities):
            switch = report.switches[index] if report.switches else None
            switched: list[object] = ["", "", ""]
            if switch is not None:
                switched = [switch.first_value, switch.factor, _label(switch.strategy)]
            for number, sample in enumerate(entry.samples):
                won = _label(report.optima[index][number].strategy) if report.optima else ""
                point = (report.title, report.row.key, report.strategy.label(), report.memory_cap_bytes)
                varied = (entry.parameter.key, entry.parameter.value, entry.elasticity, entry.wall_time_ns)
                sampled = (sample.factor, sample.value, sample.wall_time_ns, won)
                rows.append(dict(zip(CSV_COLUMNS, (*point, *varied, *sampled, *switched), strict=True)))
    return rows


def _cells(report: Report, index: int) -> list[str]:
    entry = report.sensitivities[index]
    walls = []
    for number, sample in enumerate(entry.samples):
        changes = bool(report.optima) and report.optima[index][number].strategy != report.strategy
        walls.append(_duration(sample.wall_time_ns) + ("*" if changes else " "))
    elasticity = "-" if entry.elasticity is None else f"{entry.elasticity:+.4f}"
    return [entry.parameter.key.removeprefix("system."), f"{entry.parameter.value:g}", elasticity, *walls]


def _switch_cells(switch: Switch) -> list[str]:
    is_cap = switch.key == "memory_cap_bytes"
    value = f"{int(switch.first_value)}" if is_cap else f"{switch.first_value:.7g}"
    causes = {"faster": "", "fits": " (fits there)", "misfit": " (today's does not fit)"}
    new = f"{_label(switch.strategy)}, {_duration(switch.wall_time_ns)}{causes[switch.cause]}"
    if switch.strategy is None:
        new = "nothing fits"
    factor = "" if switch.factor is None else f"x{switch.factor:.4g}"
    return [f"  {switch.key.removeprefix('system.')}", value, factor, f" {new}"]


def _label(strategy: Strategy | None) -> str:
    return "" if strategy is None else strategy.label()


def _duration(wall_time_ns: int | None) -> str:
    return "-" if wall_time_ns is None else format_duration_ns(wall_time_ns)


def _fields(value: Any) -> Any:
    return vars(value) if isinstance(value, Strategy) else value


def _plain(switch: Switch | None) -> dict[str, Any] | None:
    return None if switch is None else switch.to_json()
