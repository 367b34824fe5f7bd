"""The comparison of two studies as text."""

from __future__ import annotations

from collections.abc import Sequence

from dse.answers.caps import under
from dse.answers.differences import InputChange, StrategyChange, StudyComparison
from dse.answers.summary import render_rows
from dse.base.texts import aligned
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.strategies import STRATEGY_FIELDS, StrategyAxis, shown_axes
from dse.studies.store.schema import StudyRow

_NAME_WIDTH = 16  # of a study in a table, so that lines stay within 110 columns


def render_comparison(comparison: StudyComparison, items: int = 5) -> str:
    """Return as text the differences, both answers, and the `items` greatest changes of strategies."""
    names = comparison.names
    lines = [comparison.heading, "", *_inputs(comparison.inputs, names)]
    first, second = comparison.first, comparison.second
    lines += ["", "without a memory cap", *_bests(first.optimum, second.optimum, names, "no point is ok")]
    if first.memory_cap_bytes is not None:
        lines += ["", under(first.memory_cap_bytes)]
        lines += _bests(first.capped_optimum, second.capped_optimum, names, "no point fits")
    lines += ["", _counts(comparison), *_changes(comparison.changes, names, items)]
    return "\n".join(lines)


def _inputs(inputs: Sequence[InputChange], names: tuple[str, str]) -> list[str]:
    if not inputs:
        return ["the inputs are the same"]
    lines = [f"inputs that differ, {' -> '.join(names)}"]
    for change in inputs:
        before, after = (", ".join(values) or "not there" for values in (change.first, change.second))
        lines.append(f"  {change.name}  {before} -> {after}")
    return lines


def _bests(first: StudyRow | None, second: StudyRow | None, names: tuple[str, str], none: str) -> list[str]:
    change = ""
    if first is not None and second is not None and first.wall_time_ns and second.wall_time_ns:
        change = f" {100 * (second.wall_time_ns / first.wall_time_ns - 1):+.1f} %"
    one, other = short_names(names)
    labelled = [
        (label, row)
        for label, row in ((f"  {one}", first), (f"  {other}{change}", second))
        if row is not None
    ]
    lines = render_rows(labelled).splitlines() if labelled else []
    missing = [name for name, row in zip(names, (first, second), strict=True) if row is None]
    return [*lines, *(f"  {name}: {none}" for name in missing)]


def short_names(names: tuple[str, str]) -> tuple[str, str]:
    """The names as columns have them: long ones without their middle, or numbers where that is one text."""
    one, other = (
        name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH // 2]}…{name[1 - _NAME_WIDTH // 2 :]}"
        for name in names
    )
    return (one, other) if one != other or names[0] == names[1] else ("1st study", "2nd study")


def _counts(comparison: StudyComparison) -> str:
    changes = comparison.changes
    faster = sum(change.change < 0 for change in changes)
    slower = sum(change.change > 0 for change in changes)
    one, other = comparison.names
    text = (
        f"{len(changes)} strategies are ok in both: in {other} {faster} are faster, "
        f"{len(changes) - faster - slower} equal, {slower} slower"
    )
    alone = [
        f"{count} only in {name}"
        for name, count in ((one, comparison.only_first), (other, comparison.only_second))
        if count
    ]
    return "; ".join([text, *alone])


def _changes(changes: Sequence[StrategyChange], names: tuple[str, str], items: int) -> list[str]:
    gains = [change for change in changes if change.change < 0][:items]
    losses = [change for change in changes if change.change > 0][-items:] if items else []
    axes = shown_axes([change.strategy for change in (*gains, *losses)])
    lines: list[str | Sequence[str]] = _header(names, axes) if gains or losses else []
    lines += [_cells("  gain", change, axes) for change in gains]
    lines += [_cells("  loss", change, axes) for change in reversed(losses)]
    return aligned(lines)


def _header(names: tuple[str, str], axes: Sequence[StrategyAxis]) -> list[str | Sequence[str]]:
    one, other = short_names(names)
    first, second = zip(*[axis.heading for axis in axes], strict=True)
    return [
        ("", *first, one, other, "change", one, other),
        ("", *second, "time", "time", "%", "peak", "peak"),
    ]


def _cells(label: str, change: StrategyChange, axes: Sequence[StrategyAxis]) -> list[str]:
    values = dict(zip(STRATEGY_FIELDS, change.strategy, strict=True))
    peaks = (change.first_peak_memory_bytes, change.second_peak_memory_bytes)
    return [
        label,
        *[axis.cell(values[axis.name]) for axis in axes],
        format_duration_ns(change.first_wall_time_ns),
        format_duration_ns(change.second_wall_time_ns),
        f"{100 * change.change:+.1f}",
        *("-" if peak is None else format_bytes(peak) for peak in peaks),
    ]
