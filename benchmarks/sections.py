"""The measurements: each returns rows, one for what is measured together."""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import references, tasks
from benchmarks.cases import Case, Cases
from benchmarks.measure import ROOT, BenchmarkError, in_fresh_process, run_command
from benchmarks.side_by_side import note_what_is_missing, side_by_side
from benchmarks.tasks import PointCost, bandwidths_cost, point_cost
from dse.simulation.simulators.native import EngineMethod

Row = dict[str, str | int | float | bool | None]
_RUNS_OF_A_PROCESS = 5  # the first is cold


def lab(cases: Cases, repeats: int) -> Iterator[Row]:
    """Every point of the lab, by classes where they are proven: time, path, events, memory, ratios."""
    for case in cases.lab:
        cost = _cost(case, "auto", repeats)
        reference = references.tracked(case)
        total = statistics.median(cost.total_s)
        yield {
            **_point_columns(case, cost),
            "reference_origin": reference.origin,
            "reference_generate_s": reference.generate_s,
            "reference_simulate_s": reference.simulate_s,
            "reference_total_s": reference.total_s,
            "ratio": _ratio(reference.total_s, total),
            "ratio_of_slowest_run": _ratio(reference.total_s, max(cost.total_s)),
        }


def cold(cases: Cases, repeats: int) -> Iterator[Row]:
    """Points of every kind of strategy as the first thing that a process does, and warm in the same one."""
    for case in cases.cold:
        costs = [_cost(case, "auto", _RUNS_OF_A_PROCESS) for _ in range(repeats)]
        first = [cost.total_s[0] for cost in costs]
        warm = [seconds for cost in costs for seconds in cost.total_s[1:]]
        yield {
            **_point_columns(case, costs[0]),
            "processes": len(costs),
            "cold_s": statistics.median(first),
            "cold_max_s": max(first),
            "warm_s": statistics.median(warm),
            "warm_max_s": max(warm),
        }


def general(cases: Cases, repeats: int) -> Iterator[Row]:
    """The recorded points by both methods, with and without the memory tracker: ns an event, ratios."""
    for case in cases.recorded:
        for is_tracked in (True, False):
            system = replace(case.system, track_local_memory=is_tracked)
            engines: tuple[EngineMethod, ...] = ("general", "auto")
            reference_events: int | None = None
            for engine in engines:
                cost = _cost(replace(case, system=system), engine, repeats)
                untracked_s, counted = references.untracked(case)
                reference_s = references.tracked(case).simulate_s if is_tracked else untracked_s
                if engine == "general":
                    # The general engine executes the events of the reference, where those are known.
                    if counted not in (None, cost.events):
                        raise BenchmarkError(
                            f"{case.name}: {cost.events} events, but the reference has {counted}"
                        )
                    reference_events = cost.events
                simulate_s = statistics.median(cost.simulate_s)
                assert reference_events is not None
                yield {
                    **_point_columns(case, cost),
                    "engine": engine,
                    "tracked": is_tracked,
                    "reference_events": reference_events,
                    "reference_events_counted": counted is not None,
                    "ns_per_reference_event": simulate_s * 1e9 / reference_events,
                    "reference_simulate_s": reference_s,
                    "ratio_of_simulation": _ratio(reference_s, simulate_s),
                }


def study(cases: Cases, repeats: int) -> Iterator[Row]:
    """Whole processes, start-up included: `python -m dse.sweep` of each pair, and other commands."""
    walls, cpus, points = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        for system, model in cases.pairs:
            command = [sys.executable, "-m", "dse.sweep", f"system={system}", f"model={model}"]
            runs = [
                run_command([*command, f"results_dir={folder}/{repeat}"], Path(folder))
                for repeat in range(repeats)
            ]
            found = re.search(r"^(\d+) points?\b", runs[0].output, re.MULTILINE)
            count = int(found[1]) if found else 0
            walls.append([run.wall_s for run in runs])
            cpus.append([run.cpu_s for run in runs])
            points += count
            yield _study_row(f"{model} on {system}", count, walls[-1], cpus[-1])
    both = (
        [sum(times) for times in zip(*walls, strict=True)],
        [sum(times) for times in zip(*cpus, strict=True)],
    )
    yield _study_row("all", points, *both)
    for words in cases.commands:
        runs = [run_command([sys.executable, "-m", "dse", *words], ROOT) for _ in range(repeats)]
        yield _study_row(
            " ".join(["dse", *words]), None, [run.wall_s for run in runs], [run.cpu_s for run in runs]
        )


def _study_row(name: str, points: int | None, walls: Sequence[float], cpus: Sequence[float]) -> Row:
    return {
        "name": name,
        "points": points,
        "repeats": len(walls),
        "wall_s": statistics.median(walls),
        "wall_min_s": min(walls),
        "wall_max_s": max(walls),
        "cpu_s": statistics.median(cpus),
    }


def scale(cases: Cases, repeats: int) -> Iterator[Row]:
    """Large systems by classes; twins by both methods, which must agree on every rank; a growing series."""
    for kind, alone in (("large", cases.large), ("fallback", cases.fallback)):
        for case in alone:
            yield {**_point_columns(case, _cost(case, "auto", repeats)), **_scale_columns(kind, "auto", case)}
    for kind, group in (("twin", cases.twins), ("series", cases.series)):
        for case in group:
            auto = _cost(case, "auto", repeats, keep_ranks=True)
            yield {**_point_columns(case, auto), **_scale_columns(kind, "auto", case)}
            if kind == "series" and case.system.npus > cases.general_up_to:
                continue
            # A twin is there for its results: the general engine runs it once. The series gives medians.
            every_rank = _cost(case, "general", 1 if kind == "twin" else repeats, keep_ranks=True)
            equal = equal_ranks(case, auto, every_rank)
            yield {
                **_point_columns(case, every_rank),
                **_scale_columns(kind, "general", case),
                "equal_ranks": equal,
            }


def _scale_columns(kind: str, engine: str, case: Case) -> Row:
    return {"kind": kind, "engine": engine, "twin_of": case.twin_of, "equal_ranks": None}


def equal_ranks(case: Case, auto: PointCost, general: PointCost) -> int:
    """Return the number of ranks, all of whose metrics are equal both ways.

    Raises:
        BenchmarkError: some are not; names the first.
    """
    if auto.status != general.status:
        raise BenchmarkError(f"{case.name}: {auto.status} by classes, {general.status} event by event")
    ranks = enumerate(zip(auto.class_of_rank, general.class_of_rank, strict=True))
    for rank, (one, other) in ranks:
        if auto.metrics_of_class[one] != general.metrics_of_class[other]:
            raise BenchmarkError(
                f"{case.name}, {case.strategy.label()}, rank {rank}: "
                f"{auto.metrics_of_class[one]} by classes, {general.metrics_of_class[other]} event by event"
            )
    return len(general.class_of_rank)


def paths(cases: Cases, _repeats: int) -> Iterator[Row]:
    """How many points of whole spaces run by classes, and why the others do not; once each."""
    for name, points in cases.spaces.items():
        found = in_fresh_process(tasks.paths, points)
        for path, count in Counter(path for path, _ in found).most_common():
            seconds = [seconds for other, seconds in found if other == path]
            yield {"name": name, "path": path, "points": count, "of": len(found), "slowest_s": max(seconds)}


def sharing(cases: Cases, repeats: int) -> Iterator[Row]:
    """One strategy under many bandwidths: generated once, and generated every time."""
    for shared in (True, False):
        seconds = in_fresh_process(
            bandwidths_cost, cases.sharing, cases.bandwidths_gbps, shared=shared, repeats=repeats
        )
        points = len(cases.bandwidths_gbps)
        yield {
            "name": cases.sharing.name,
            "strategy": cases.sharing.strategy.label(),
            "shared": shared,
            "points": points,
            "repeats": repeats,
            "total_s": statistics.median(seconds),
            "per_point_s": statistics.median(seconds) / points,
        }


def measured_references(cases: Cases, repeats: int) -> Iterator[Row]:
    """ASTRA-sim and STAGE in the same run, if the environment names them."""
    note_what_is_missing()
    for case in cases.side_by_side:
        with tempfile.TemporaryDirectory() as folder:
            for row in side_by_side(case, Path(folder)):
                ours = _cost(case, "auto", repeats)
                seconds = statistics.median(ours.simulate_s if row.does == "simulate" else ours.generate_s)
                yield {
                    **_point_columns(case, ours),
                    "reference": row.name,
                    "reference_s": row.cpu_s,
                    "equal_figures": row.equal_figures,
                    "equal_traces": row.equal_traces,
                    "ratio": _ratio(row.cpu_s, seconds),
                }


def _cost(case: Case, engine: EngineMethod, repeats: int, *, keep_ranks: bool = False) -> PointCost:
    cost = in_fresh_process(point_cost, case, engine, repeats, keep_ranks)
    if cost.status != "ok":
        raise BenchmarkError(f"{case.name}, {case.strategy.label()}: {cost.status}")
    return cost


def _point_columns(case: Case, cost: PointCost) -> Row:
    strategy = case.strategy
    return {
        "name": case.name,
        "strategy": strategy.label(),
        "dp": strategy.dp,
        "tp": strategy.tp,
        "sp": strategy.sp,
        "pp": strategy.pp,
        "weight_sharded": strategy.weight_sharded,
        "activation_recompute": strategy.activation_recompute,
        "npus": case.system.npus,
        "layers": case.model.num_layers,
        "repeats": len(cost.total_s),
        "generate_s": statistics.median(cost.generate_s),
        "simulate_s": statistics.median(cost.simulate_s),
        "total_s": statistics.median(cost.total_s),
        "total_first_s": cost.total_s[0],
        "total_min_s": min(cost.total_s),
        "total_max_s": max(cost.total_s),
        "path": "by classes" if cost.obstacle is None else cost.obstacle,
        "rank_classes": cost.rank_classes,
        "events": cost.events,
        "start_bytes": cost.start_bytes,
        "peak_bytes": cost.peak_bytes,
    }


def _ratio(reference_s: float | None, seconds: float) -> float | None:
    return None if reference_s is None else reference_s / seconds
