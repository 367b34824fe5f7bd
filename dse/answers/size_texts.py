"""Sizes of machines as text and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.answers.sizes import OBJECTIVES, NextSize, Size, front, next_sizes, winners
from dse.answers.training_runs import run_data
from dse.base.texts import counted, table
from dse.base.units import format_count, format_time

_NAMES = {"time": "fastest", "cost": "cheapest", "energy": "least energy"}
_HEADER = (
    "",
    "system",
    "NPUs",
    "time",
    "80 % from",
    "to",
    "effective",
    "NPU-hours",
    "cost",
    "MWh",
    "one more node",
    "a day less costs",
)


def sizes_text(sizes: Sequence[Size], *, every: bool = False) -> str:
    """Return the sizes that no other beats, or all, and what the answer is."""
    best, steps = winners(sizes), next_sizes(sizes)
    shown = [size for size in sizes if size.run is not None] if every else front(sizes)
    lines = list(_winner_lines(best)) or list(_none_lines(sizes))
    if shown:
        rows = [_row(size, best, steps) for size in shown]
        lines += ["", "all sizes:" if every else "no other size is better in time, cost and energy at once:"]
        lines += table(_HEADER, rows)
    lines += ["", *_notes(sizes, best, steps)]
    return "\n".join(lines)


def _winner_lines(best: dict[str, Size]) -> Iterator[str]:
    for objective, size in best.items():
        assert size.run is not None
        figures = [
            format_time(size.run.time_s.value),
            f"{format_count(size.run.npu_hours)} NPU-hours",
        ]
        figures += [f"{format_count(size.cost)} in all"] if size.cost is not None else []
        figures += [f"{format_count(size.energy.energy_mwh.value)} MWh"] if size.energy is not None else []
        plan = size.run.question.plan.label()
        npus = counted(size.npus, "NPU")
        yield f"{_NAMES[objective]}: {npus} of {size.system}, {', '.join(figures)} ({plan})"


def _none_lines(sizes: Sequence[Size]) -> Iterator[str]:
    """Say that nothing is left, and which size is nearest."""
    known = [size for size in sizes if size.run is not None]
    if not known:
        yield "no size has a run"
        return
    near = min(known, key=lambda size: (len(size.broken), size.figure("time")))
    assert near.run is not None
    high_s = near.run.time_s.high or near.run.time_s.value
    yield (
        f"no size keeps all limits; {counted(near.npus, 'NPU')} of {near.system} come nearest: over the "
        f"{', '.join(near.broken)}, {format_time(near.run.time_s.value)} (up to {format_time(high_s)})"
    )


def _row(size: Size, best: dict[str, Size], steps: Mapping[tuple[str, int], NextSize]) -> list[str]:
    run = size.run
    assert run is not None
    marks = [_NAMES[name] for name, winner in best.items() if winner is size]
    low, high = (format_time(end) if end is not None else "-" for end in (run.time_s.low, run.time_s.high))
    step = steps.get((size.system, size.npus))
    return [
        ", ".join([*marks, *[f"over the {name}" for name in size.broken]]),
        size.system,
        str(size.npus),
        format_time(run.time_s.value),
        low,
        high,
        f"{100 * run.effective_ratio:.1f} %",
        format_count(run.npu_hours),
        "-" if size.cost is None else format_count(size.cost),
        "-" if size.energy is None else format_count(size.energy.energy_mwh.value),
        *_cells(step),
    ]


def _notes(
    sizes: Sequence[Size], best: dict[str, Size], steps: Mapping[tuple[str, int], NextSize]
) -> Iterator[str]:
    for objective, size in winners(sizes, plain=True).items():
        own = best.get(objective)
        if own is not None and own is not size:
            yield _changed(objective, size, own)
    for system in dict.fromkeys(size.system for size in sizes):
        yield from _where_it_stops(system, sizes, steps)
    problems = {size.system: size.problem for size in sizes if size.run is None}
    for system, problem in problems.items():
        count = sum(size.run is None and size.system == system for size in sizes)
        yield f"{system}: {counted(count, 'size')} without a run: {problem}"
    yield "each size has the fastest of all strategies that dse sweep tries there, of those that fit"


def _cells(step: NextSize | None) -> tuple[str, str]:
    """Say what one more node brings on the way to the next size, and what a day less costs there."""
    if step is None:
        return "-", "-"
    if step.day_costs is None:
        return "slower", "-"
    return f"-{format_time(step.saved_s)}", format_count(step.day_costs)


def _where_it_stops(
    system: str, sizes: Sequence[Size], steps: Mapping[tuple[str, int], NextSize]
) -> Iterator[str]:
    """Say from which size on a larger one does not pay, and what the deadline takes."""
    own = sorted((npus, step) for (name, npus), step in steps.items() if name == system)
    for npus, step in own:
        if not step.pays:
            more = step.npus / npus
            gain = f"{more:.3g} times as many are {step.faster:.2f} times as fast"
            yield f"{system} stops paying beyond {npus} NPUs: {gain}"
            break
    known = [size for size in sizes if size.system == system and size.run is not None]
    late = [size.npus for size in known if "deadline" in size.broken]
    kept = [size.npus for size in known if "deadline" not in size.broken]
    if late and kept and max(late) < min(kept):
        yield f"{system} keeps the deadline from {min(kept)} NPUs on: larger sizes buy days not asked for"
    elif late and kept:  # a larger size may be slower, as where its replicas do not divide the batch
        yield f"{system} keeps the deadline with {', '.join(map(str, sorted(kept)))} NPUs only"


def _changed(objective: str, plain: Size, own: Size) -> str:
    run = plain.run
    assert run is not None
    assert own.run is not None
    losses = {
        name: run.parts_s[name] for name in ("waiting for spares", "detection and restart", "lost work")
    }
    cause = max(losses, key=lambda name: losses[name])
    return (
        f"without failures {plain.npus} NPUs of {plain.system} would be the {_NAMES[objective]}: it computes "
        f"{100 * run.effective_ratio:.1f} % of its time ({cause} {format_time(losses[cause])}), "
        f"{own.npus} of {own.system} {100 * own.run.effective_ratio:.1f} %"
    )


def sizes_data(sizes: Sequence[Size]) -> dict[str, Any]:
    """Return all sizes as plain data: with the winners by objective and the front as numbers of entries."""
    numbers = {id(size): number for number, size in enumerate(sizes)}
    steps = next_sizes(sizes)
    return {
        "sizes": [_size_data(size, steps.get((size.system, size.npus))) for size in sizes],
        "winners": {name: numbers[id(size)] for name, size in winners(sizes).items()},
        "winners_without_failures": {
            name: numbers[id(size)] for name, size in winners(sizes, plain=True).items()
        },
        "front": [numbers[id(size)] for size in front(sizes)],
    }


def _size_data(size: Size, step: NextSize | None) -> dict[str, Any]:
    figures = {name: size.figure(name) for name in OBJECTIVES}
    return {
        "system": size.system,
        "npus": size.npus,
        "next": None if step is None else step._asdict(),
        "problem": size.problem,
        "broken": list(size.broken),
        **{f"{name}_figure": value if math.isfinite(value) else None for name, value in figures.items()},
        "run": None if size.run is None else run_data(size.run, None, size.energy),
    }
