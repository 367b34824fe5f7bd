"""What an executor adds to the evaluation of points, and how fast a long sweep is on each."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.cases import Case, Cases
from benchmarks.measure import BenchmarkError
from dse.base.machine import usable_cores
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.executors import Executor, LocalExecutor, RayExecutor
from dse.studies.points import DesignPoint, Scenario, evaluate

Row = dict[str, str | int | float | bool | None]

_SAMPLE = 2000  # at most so many points are evaluated without an executor


@dataclass(frozen=True)
class _Run:
    """Seconds to the first row, from it to the last row, and of the CPU of this process between these."""

    start_s: float
    rows_s: float
    process_cpu_s: float


def executors(cases: Cases, _repeats: int) -> Iterator[Row]:
    """Cheap points on each executor, from the first row to the last; the overhead of a point is
    (seconds x cores - CPU seconds of evaluating the points one by one) / points.
    """
    config = compose_config(["system=torus_4x4", "model=tiny"])
    scenario = Scenario("overhead", config.model, config.system)
    cores = usable_cores()
    points = cases.overhead_points
    for kind, strategy in (("ok", Strategy(dp=16)), ("infeasible", Strategy(dp=3))):
        point = DesignPoint(scenario, strategy)
        evaluate(point)
        for name, executor in _executors(cores):
            before_s = _evaluate_s(point, points)
            run = _timed(executor, _repeated(point, points), points)
            evaluate_s = (before_s + _evaluate_s(point, points)) / 2  # other load drifts
            yield {
                "name": f"{kind} points on {name}",
                "executor": name,
                "points": points,
                "cores": cores,
                "evaluate_us": evaluate_s * 1e6,
                "start_s": run.start_s,
                "rows_s": run.rows_s,
                "overhead_us": (run.rows_s * cores / points - evaluate_s) * 1e6,
                "process_cpu_us": run.process_cpu_s / points * 1e6,
            }


def throughput(cases: Cases, _repeats: int) -> Iterator[Row]:
    """A sweep of the first pair under many bandwidths, which takes about `throughput_s`, on each executor in
    turn; the ratio is to the run of `local` in the same round.
    """
    first = [case for case in cases.lab if case.system.name == cases.lab[0].system.name]
    cores = usable_cores()
    count = _bandwidths(first, cores, cases.throughput_s)
    points = len(first) * count
    for number in range(cases.throughput_rounds):
        local_s = 0.0
        for name, executor in _executors(cores):
            run = _timed(executor, _under_bandwidths(first, range(1, 1 + count)), points)
            wall_s = run.start_s + run.rows_s
            local_s = wall_s if name == "local" else local_s
            yield {
                "name": name,
                "round": number + 1,
                "points": points,
                "cores": cores,
                "start_s": run.start_s,
                "wall_s": wall_s,
                "points_per_second": points / wall_s,
                "of_local_pct": local_s / wall_s * 100,
            }


def _bandwidths(cases: Sequence[Case], cores: int, seconds: float) -> int:
    """How many bandwidths take `seconds`; tried with more and more of them, which also warms up."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in LocalExecutor(cores).run(_under_bandwidths(cases, range(1, 1 + count))):
            pass
        tried_s = time.perf_counter() - began
        if tried_s >= seconds / 4:
            return math.ceil(count * seconds / tried_s * 1.1)
        count *= 4


def _executors(cores: int) -> list[tuple[str, Executor]]:
    return [("local", LocalExecutor(cores)), ("ray", RayExecutor(workers=cores))]


def _repeated(point: DesignPoint, count: int) -> Iterator[DesignPoint]:
    for _ in range(count):
        yield point


def _under_bandwidths(cases: Sequence[Case], steps: Iterable[int]) -> Iterator[DesignPoint]:
    """Every strategy under each bandwidth: a scenario for each."""
    on = cases[0]
    for step in steps:
        network = tuple(replace(part, bandwidth_gbps=25.0 + step / 8) for part in on.system.network)
        scenario = Scenario("throughput", on.model, replace(on.system, network=network))
        yield from (DesignPoint(scenario, case.strategy) for case in cases)


def _evaluate_s(point: DesignPoint, points: int) -> float:
    """CPU time, so that other load makes the overhead look larger, not smaller."""
    began = time.process_time()
    for _ in range(count := min(_SAMPLE, points)):
        evaluate(point)
    return (time.process_time() - began) / count


def _timed(executor: Executor, points: Iterator[DesignPoint], count: int) -> _Run:
    began = first = last = time.perf_counter()
    cpu_s = first_cpu_s = time.process_time()
    rows = 0
    for rows, _ in enumerate(executor.run(points), start=1):
        last = time.perf_counter()
        if rows == 1:
            first, first_cpu_s = last, time.process_time()
        cpu_s = time.process_time() if rows == count else cpu_s
    if rows != count:
        raise BenchmarkError(f"{rows} rows of {count} points")
    return _Run(first - began, last - first, cpu_s - first_cpu_s)
