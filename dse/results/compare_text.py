"""The comparison of two studies as text."""

from __future__ import annotations

from collections.abc import Sequence

from dse.results.compare import InputChange, StrategyChange, StudyComparison
from dse.results.schema import StudyRow
from dse.results.summary import align, render_rows
from dse.units import format_bytes, format_duration_ns

_HEADER = ("", "dp", "tp", "sp", "pp", "fsdp", "recomp.", "first", "second", "change %", "peak", "second")


def render_comparison(comparison: StudyComparison, items: int = 5) -> str:
    """What differs, both answers, and the `items` greatest gains and losses among the strategies of both."""
    lines = [comparison.title, "", *_inputs(comparison.inputs)]
    first, second = comparison.first, comparison.second
    lines += ["", "without a memory cap", *_bests(first.optimum, second.optimum, "no point is ok")]
    if first.memory_cap_bytes is not None:
        lines += ["", f"under {format_bytes(first.memory_cap_bytes)} ({first.memory_cap_bytes} bytes)"]
        lines += _bests(first.capped_optimum, second.capped_optimum, "no point fits")
    lines += ["", _counts(comparison), *_changes(comparison.changes, items)]
    return "\n".join(lines)


def _inputs(inputs: Sequence[InputChange]) -> list[str]:
    if not inputs:
        return ["the inputs are the same"]
    lines = ["inputs that differ, first -> second"]
    for change in inputs:
        before, after = (", ".join(values) or "not there" for values in (change.first, change.second))
        lines.append(f"  {change.name}  {before} -> {after}")
    return lines


def _bests(first: StudyRow | None, second: StudyRow | None, none: str) -> list[str]:
    change = ""
    if first is not None and second is not None and first.wall_time_ns and second.wall_time_ns:
        change = f" {100 * (second.wall_time_ns / first.wall_time_ns - 1):+.1f} %"
    labelled = [
        (label, row) for label, row in (("  first", first), (f"  second{change}", second)) if row is not None
    ]
    lines = render_rows(labelled).splitlines() if labelled else []
    missing = [name for name, row in (("first", first), ("second", second)) if row is None]
    return [*lines, *(f"  {name}: {none}" for name in missing)]


def _counts(comparison: StudyComparison) -> str:
    changes = comparison.changes
    faster = sum(change.change < 0 for change in changes)
    slower = sum(change.change > 0 for change in changes)
    text = (
        f"{len(changes)} strategies are ok in both: in the second {faster} are faster, "
        f"{len(changes) - faster - slower} equal, {slower} slower"
    )
    alone = [
        f"{count} only in the {name}"
        for name, count in (("first", comparison.only_first), ("second", comparison.only_second))
        if count
    ]
    return "; ".join([text, *alone])


def _changes(changes: Sequence[StrategyChange], items: int) -> list[str]:
    gains = [change for change in changes if change.change < 0][:items]
    losses = [change for change in changes if change.change > 0][-items:] if items else []
    lines: list[str | Sequence[str]] = [_HEADER] if gains or losses else []
    lines += [_cells("  gain", change) for change in gains]
    lines += [_cells("  loss", change) for change in reversed(losses)]
    return align(lines)


def _cells(label: str, change: StrategyChange) -> list[str]:
    *degrees, weight_sharded, recompute = change.strategy
    peaks = (change.first_peak_memory_bytes, change.second_peak_memory_bytes)
    return [
        label,
        *map(str, degrees),
        "yes" if weight_sharded else "no",
        "yes" if recompute else "no",
        format_duration_ns(change.first_wall_time_ns),
        format_duration_ns(change.second_wall_time_ns),
        f"{100 * change.change:+.1f}",
        *("-" if peak is None else format_bytes(peak) for peak in peaks),
    ]
