"""What runs in a process of its own: a point some times, or one strategy over many bandwidths."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from benchmarks.cases import Case
from benchmarks.memory import peak_bytes
from dse.inputs.strategies import InfeasibleStrategy
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import EngineMethod
from dse.simulation.workloads.generators import _generated, generate
from dse.studies.points import DesignPoint, Scenario, evaluate


@dataclass(frozen=True)
class PointCost:
    """CPU seconds of each run, what was run, and the memory of the process before and at its peak."""

    generate_s: list[float]
    simulate_s: list[float]
    total_s: list[float]
    status: str
    events: int
    obstacle: str | None
    rank_classes: int
    start_bytes: int
    peak_bytes: int
    metrics_of_class: list[tuple[Any, ...] | None]
    class_of_rank: list[int]


def point_cost(case: Case, engine: EngineMethod, repeats: int, keep_ranks: bool) -> PointCost:
    """Generate and simulate a point `repeats` times, each time from nothing."""
    start = peak_bytes()
    simulator = NativeSimulator(engine)
    generation, simulation, total = [], [], []
    for _ in range(repeats):
        _generated.clear()
        began = time.process_time()
        workload = generate(case.model, case.strategy)
        generated = time.process_time()
        outcome = simulator.simulate(workload, case.system)
        ended = time.process_time()
        generation.append(generated - began)
        simulation.append(ended - generated)
        total.append(ended - began)
    return PointCost(
        generate_s=generation,
        simulate_s=simulation,
        total_s=total,
        status=outcome.status,
        events=outcome.events,
        obstacle=outcome.obstacle,
        rank_classes=len(outcome.classes),
        start_bytes=start,
        peak_bytes=peak_bytes(),
        metrics_of_class=[None if m is None else astuple(m) for m in outcome.classes] if keep_ranks else [],
        class_of_rank=list(outcome.class_of_rank) if keep_ranks else [],
    )


def paths(cases: Sequence[Case]) -> list[tuple[str, float]]:
    """Return how each point was simulated, by classes or why not, and its CPU seconds; once each."""
    simulator = NativeSimulator()
    found = []
    for case in cases:
        began = time.process_time()
        try:
            outcome = simulator.simulate(generate(case.model, case.strategy), case.system)
            path = outcome.obstacle or "by classes"
        except InfeasibleStrategy:
            path = "infeasible"
        found.append((re.sub(r"group \S+", "a group", path), time.process_time() - began))
    return found


def bandwidths_cost(
    case: Case, bandwidths_gbps: Sequence[float], *, shared: bool, repeats: int
) -> list[float]:
    """CPU seconds of evaluating one strategy under each bandwidth; unless `shared`, generated every time."""
    points = [
        DesignPoint(
            Scenario(
                "sensitivity",
                case.model,
                replace(
                    case.system,
                    network=tuple(replace(part, bandwidth_gbps=gbps) for part in case.system.network),
                ),
            ),
            case.strategy,
        )
        for gbps in bandwidths_gbps
    ]
    seconds = []
    for _ in range(repeats):
        _generated.clear()
        began = time.process_time()
        for point in points:
            if not shared:
                _generated.clear()
            row = evaluate(point)
            if row.status != "ok":
                raise RuntimeError(f"{case.name}: {row.status}, {row.reason}")
        seconds.append(time.process_time() - began)
    return seconds
