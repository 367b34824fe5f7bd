"""Explanations and comparisons as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from dse.answers.explain.breakdown import CATEGORY_MEANINGS, MEANINGS, Breakdown, Explanation
from dse.answers.explain.comparison import Comparison, Difference
from dse.answers.explain.memory import MemoryAtPeak
from dse.base.texts import counted
from dse.base.units import duration_range, format_bytes, format_duration_ns
from dse.prediction.steps.details import GroupCollective


def render(explanation: Explanation, *, items: int = 10) -> str:
    """Return tables of the parts and categories that are not zero, and the `items` largest operators."""
    lines = [explanation.label] if explanation.label else []
    lines += _time_lines(explanation.time, explanation.range_ns)
    if explanation.memory is not None:
        lines += ["", *_memory_lines(explanation.memory, items)]
    if explanation.collectives:
        lines += ["", "collectives, alone and before anything hides them:"]
        lines += [f"  {_collective(one)}" for one in explanation.collectives]
    if explanation.notes:
        lines += ["", *(f"note: {note}" for note in explanation.notes)]
    return "\n".join(lines)


def render_comparison(comparison: Comparison) -> str:
    """Return tables of the figures of both points; those that are zero in both are left out."""
    lines = [f"first:  {comparison.first}", f"second: {comparison.second}", ""]
    lines.append(f"{'':<22}{'first':>14}{'second':>14}{'second - first':>18}")
    lines += _difference_lines([comparison.wall_time, *comparison.parts], format_duration_ns)
    overlapped = list(_difference_lines(comparison.overlapped, format_duration_ns))
    if overlapped:
        lines += ["overlapped communication (no part of the sum):", *overlapped]
    if comparison.peak is not None:
        lines += ["", *_difference_lines([comparison.peak, *comparison.categories], format_bytes)]
    return "\n".join(lines)


def _collective(one: GroupCollective) -> str:
    size, seconds = format_bytes(round(one.size_bytes)), format_duration_ns(round(one.seconds * 1e9))
    return f"{one.axis:<10}{one.ranks:>6} ranks  {one.collective} of {size}: {one.algorithm}, {seconds}"


def _time_lines(time: Breakdown, range_ns: tuple[int, int] | None) -> Iterable[str]:
    whose = "predicted" if time.rank is None else f"as rank {time.rank} spends it"
    sure = f" (80 %: {duration_range(*range_ns)})" if range_ns else ""
    yield f"wall time {format_duration_ns(time.wall_time_ns)}{sure}, {whose}:"
    for part, ns in time.parts.items():
        if ns:
            yield _figure(part, format_duration_ns(ns), _share(ns, time.wall_time_ns), MEANINGS[part])
    for axis, ns in time.overlapped.items():
        if ns:
            share = _share(ns, time.wall_time_ns)
            yield _figure(f"overlapped {axis}", format_duration_ns(ns), share, "no part of the sum")


def _memory_lines(memory: MemoryAtPeak, items: int) -> Iterable[str]:
    during = "" if memory.operator is None else f", during {memory.operator}"
    peak = memory.peak_memory_bytes
    where = (
        "of the fullest stage"
        if memory.rank is None
        else f"of rank {memory.rank} at {format_duration_ns(memory.at_ns or 0)}{during}"
    )
    yield f"peak memory {format_bytes(peak)}, {where}:"
    for category, size in memory.categories.items():
        if size:
            yield _figure(category, format_bytes(size), _share(size, peak), CATEGORY_MEANINGS[category])
    operators: Counter[tuple[str, str]] = Counter()
    layers: Counter[tuple[str, str]] = Counter()
    for item in memory.items:
        operators[item.category, item.operator] += item.bytes
        layers[item.category, item.operator] += item.layer is not None
    largest = operators.most_common(items)
    if largest:
        yield f"largest {len(largest)} of {counted(len(operators), 'operator')}:"
    for (category, operator), total in largest:
        count = layers[category, operator]
        where = f" of {count} layer{'s' if count > 1 else ''}" if count else ""
        yield _figure(category, format_bytes(total), _share(total, peak), f"{operator}{where}")


def _difference_lines(differences: Iterable[Difference], shown: Callable[[float], str]) -> Iterable[str]:
    for d in differences:
        if d.first or d.second:
            change = f"{'-' if d.change < 0 else '+'}{shown(abs(d.change))}" if d.change else "equal"
            name = d.name.removesuffix("_ns").removesuffix("_bytes")
            yield f"{name:<22}{shown(d.first):>14}{shown(d.second):>14}{change:>18}"


def _figure(name: str, value: str, share: str, meaning: str) -> str:
    return f"  {name:<20}{value:>12} {share}  {meaning}"


def _share(value: int, whole: int) -> str:
    return f"{100 * value / whole:6.2f} %" if whole else ""
