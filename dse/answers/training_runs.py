"""An expected training run as text and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dse.base.texts import counted, pairs
from dse.base.units import format_bytes, format_count, format_time
from dse.prediction.runs.power import Bounds, Energy
from dse.prediction.runs.run import Run

_SHOWN_CAUSES = 4
_PLACES = {"peer": "at a peer", "local": "in the node"}
_LEAST_SHOWN = 1e-9  # of the run; less is rounding


def run_text(run: Run, price_per_hour: float | None = None, energy: Energy | None = None) -> str:
    """Return an expected run as lines for people; the price is that of an hour of one NPU."""
    return pairs(list(_lines(run, price_per_hour, energy)))


def _lines(run: Run, price_per_hour: float | None, energy: Energy | None) -> Iterator[tuple[str, str]]:
    q, time_s = run.question, run.time_s
    npus, steps = q.cluster.npus, "step" if q.steps == 1 else "steps"
    yield (
        "run",
        f"{q.model.name}, {q.plan.label()}: {format_count(q.steps)} {steps} on {counted(npus, 'NPU')} of "
        + (f"{q.cluster.name}, {format_time(run.prediction.step_s)} each"),
    )
    sure = "nothing was measured of such steps, so there is no interval"
    if time_s.low is not None and time_s.high is not None:
        ends = f"{format_time(time_s.low)} to {format_time(time_s.high)}"
        sure = f"80 %: {ends}, steps and failure rates at one end"
    yield "time", f"{format_time(time_s.value)} ({sure})"
    hours = f"{format_count(run.npu_hours)} NPU-hours"
    if price_per_hour is not None:
        hours += f", {format_count(run.npu_hours * price_per_hour)} at {price_per_hour:g} an hour"
    yield "cost", hours
    if energy is not None:
        text = f"{_range(energy.energy_mwh)} MWh, {energy.mean_power_mw:.3g} MW on average"
        yield (
            "energy",
            text + ("" if energy.emissions_t is None else f"; {_range(energy.emissions_t)} t of CO2"),
        )
    yield (
        "effective",
        f"{_share(run.effective_ratio)} of the time computes steps, {_share(run.goodput)} of the peak",
    )
    for name, seconds in run.parts_s.items():
        if seconds > _LEAST_SHOWN * time_s.value:
            yield f"  {name}", f"{_share(seconds / time_s.value)}, {format_time(seconds)}"
    yield "failures", _failures(run)
    yield "checkpoint", _checkpoint(run)
    if run.spares is not None:
        each = sum(one.rate * one.nodes for one in run.classes) * q.reliability.repair_s
        yield (
            "spares",
            f"{counted(run.spares, 'node')}; {each:.3g} are in repair on average ({q.reliability.repair})",
        )
    if q.elastic != "wait":
        ways = {"wait": "waiting for nodes", "shrink": "fewer replicas meanwhile"}
        yield (
            "without spares",
            ", ".join(f"{ways[name]} {format_time(seconds)}" for name, seconds in run.choices_s.items()),
        )


def _failures(run: Run) -> str:
    if not run.failures:
        return "none"
    rate = sum(one.rate for one in run.classes)
    causes = sorted(run.classes, key=lambda one: -one.rate)
    shown = [f"{one.name} {_share(one.rate / rate)}" for one in causes[:_SHOWN_CAUSES]]
    more = f" and {len(causes) - _SHOWN_CAUSES} more" if len(causes) > _SHOWN_CAUSES else ""
    each = format_time(run.mean_time_between_s)
    source = run.question.reliability.name
    return f"{run.failures:.4g} expected, one in {each}: {', '.join(shown)}{more} (rates of {source})"


def _checkpoint(run: Run) -> str:
    chosen = "as asked" if run.question.interval_s is not None else "the best interval"
    if run.interval_s < run.checkpoints.writing_s + run.prediction.step_s and chosen != "as asked":
        chosen = "the shortest in which it is written"
    closed = (
        f"Young {format_time(run.young_s)}, Daly {format_time(run.daly_s)}"
        if math.isfinite(run.young_s)
        else ("no failure leaves one to read" if run.failures else "no failures")
    )
    blocks = format_time(run.checkpoints.blocking_s)
    if run.checkpoints.flush_s is not None:
        return f"{_near_checkpoint(run, chosen, closed)}, blocks {blocks}"
    written = (
        f", is durable {format_time(run.checkpoints.writing_s)} later" if run.checkpoints.writing_s else ""
    )
    return (
        f"{format_bytes(run.checkpoint_bytes)} every {format_time(run.interval_s)}, {chosen} ({closed}): "
        f"blocks {blocks}{written}, is read in {format_time(run.load_s)}"
    )


def _near_checkpoint(run: Run, chosen: str, closed: str) -> str:
    """Say how often a copy is near, how often in storage, and which failures need storage."""
    place, points = run.question.store.place, run.checkpoints
    stretch_s = run.interval_s + points.blocking_s
    every = max(points.every, math.ceil((points.flush_s or 0.0) / stretch_s))
    rate = sum(one.rate for one in run.classes)
    lost = sum(one.rate for one in run.classes if one.near_recovery_s is None)
    text = f"{format_bytes(run.checkpoint_bytes)} every {format_time(run.interval_s)} {_PLACES[place]}"
    stored = "each" if every == 1 else f"one in {every}"
    return (
        f"{text}, {chosen} ({closed}), {stored} to storage in {format_time(points.flush_s or 0.0)}, which "
        f"{_share(lost / rate if rate else 0.0)} of the failures need"
    )


def run_data(run: Run, price_per_hour: float | None = None, energy: Energy | None = None) -> dict[str, Any]:
    """Return an expected run as plain data; what is infinite or unknown is None."""
    q = run.question
    return {
        "model": q.model.name,
        "cluster": q.cluster.name,
        "npus": q.cluster.npus,
        "strategy": q.plan.label(),
        "steps": q.steps,
        "step_s": run.prediction.step_s,
        "time_s": run.time_s.value,
        "time_low_s": run.time_s.low,
        "time_high_s": run.time_s.high,
        "npu_hours": run.npu_hours,
        "cost": None if price_per_hour is None else run.npu_hours * price_per_hour,
        "effective_ratio": run.effective_ratio,
        "goodput": run.goodput,
        "parts_s": run.parts_s,
        "failures": run.failures,
        "mean_time_between_s": _finite(run.mean_time_between_s),
        "failures_per_s": {one.name: one.rate for one in run.classes},
        "reliability": q.reliability.name,
        "checkpoint_bytes": run.checkpoint_bytes,
        "checkpoint_interval_s": run.interval_s,
        "young_interval_s": _finite(run.young_s),
        "daly_interval_s": _finite(run.daly_s),
        "checkpoint_blocking_s": run.checkpoints.blocking_s,
        "checkpoint_writing_s": run.checkpoints.writing_s,
        "checkpoint_reading_s": run.load_s,
        "spares": run.spares,
        "time_by_choice_s": run.choices_s if q.elastic != "wait" else None,
        "energy_mwh": None if energy is None else asdict(energy.energy_mwh),
        "mean_power_mw": None if energy is None else energy.mean_power_mw,
        "emissions_t": None if energy is None or energy.emissions_t is None else asdict(energy.emissions_t),
    }


def _range(bounds: Bounds) -> str:
    if bounds.low is None or bounds.high is None:
        return format_count(bounds.value)
    return f"{format_count(bounds.value)} ({format_count(bounds.low)} to {format_count(bounds.high)})"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"
