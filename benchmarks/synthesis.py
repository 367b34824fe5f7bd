"""All-gathers synthesised for large networks, beside recorded figures of TACOS, in loops of Python."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, cast

from benchmarks.cases import Cases
from benchmarks.link_products import Dimension, Shape, product
from benchmarks.measure import in_fresh_process
from benchmarks.memory import peak_bytes
from benchmarks.references import TacosFigure, tacos_figures
from benchmarks.synthesis_cases import Axis, Synthesised
from dse.collectives import Collective, Problem
from dse.collectives.bounds import best_bound
from dse.collectives.search.synthesizers import Effort
from dse.collectives.search.synthesizers.registry import make_synthesizer
from dse.inputs.networks.graph import LinkKind

Row = dict[str, str | int | float | bool | None]
_LOOPS = 20_000_000
_CHUNK_BYTES = 1 << 20


def synthesis(cases: Cases, repeats: int) -> Iterator[Row]:
    """Median CPU seconds of the search alone, and in units of the loop that runs right after each."""
    recorded = tacos_figures()
    for case in cases.synthesised:
        cost = in_fresh_process(synthesis_cost, case, case.repeats(repeats))
        yield _row(case, cost, recorded.get(case.name))


class Cost(NamedTuple):
    """What a process measured: seconds per run, the times in ps, and its memory."""

    graph_s: float
    bound_s: float
    search_s: list[float]
    loop_s: list[float]
    npus: int
    time_ps: int
    bound_ps: int
    start_bytes: int
    peak_bytes: int
    sends: int


def synthesis_cost(case: Synthesised, repeats: int) -> Cost:
    """Build the network, bound the time, and search `repeats` times, each followed by the loop."""
    make_synthesizer(case.synthesizer)
    began = time.process_time()
    graph = product([_dimension(axis) for axis in case.axes])
    built = time.process_time()
    problem = Problem(
        graph, Collective("all_gather", graph.npus, case.chunks_per_npu), Fraction(_CHUNK_BYTES)
    )
    bound_ps = best_bound(problem).time_ps
    bounded = time.process_time()
    start = peak_bytes()
    effort = Effort(trials=case.trials, enough_ps=bound_ps)
    searches, loops, times, sends = [], [], [], 0
    for _ in range(repeats):
        fresh = Problem(graph, problem.collective, problem.chunk_bytes)
        search_began = time.process_time()
        made = make_synthesizer(case.synthesizer).synthesize(fresh, effort)
        searches.append(time.process_time() - search_began)
        times.append(made.schedule.time_ps)
        sends = len(made.schedule)
        loops.append(loop_s())
    return Cost(
        built - began,
        bounded - built,
        searches,
        loops,
        graph.npus,
        times[0],
        bound_ps,
        start,
        peak_bytes(),
        sends,
    )


def _dimension(axis: Axis) -> Dimension:
    kind = LinkKind(Fraction(axis.latency_ns), Fraction(axis.bandwidth_gbps))
    return Dimension(cast(Shape, axis.shape), axis.size, kind)


def loop_s() -> float:
    """CPU seconds of the loop that figures of different machines are compared by."""

    def loop() -> int:
        total = 0
        for number in range(_LOOPS):
            total += number & 7
        return total

    began = time.process_time()
    loop()
    return time.process_time() - began


def _row(case: Synthesised, cost: Cost, recorded: TacosFigure | None) -> Row:
    units = statistics.median(search / loop for search, loop in zip(cost.search_s, cost.loop_s, strict=True))
    return {
        "name": case.name,
        "series": case.series,
        "synthesizer": case.synthesizer,
        "npus": cost.npus,
        "chunks_per_npu": case.chunks_per_npu,
        "repeats": len(cost.search_s),
        "search_s": statistics.median(cost.search_s),
        "graph_s": cost.graph_s,
        "bound_s": cost.bound_s,
        "loop_s": statistics.median(cost.loop_s),
        "units": units,
        "time_us": cost.time_ps / 1e6,
        "bound_us": cost.bound_ps / 1e6,
        "gap_pct": 100 * (cost.time_ps / cost.bound_ps - 1),
        "sends": cost.sends,
        "start_bytes": cost.start_bytes,
        "peak_bytes": cost.peak_bytes,
        "tacos_units": recorded.units if recorded else None,
        "tacos_us": recorded.time_us if recorded else None,
        "ratio": recorded.units / units if recorded else None,
    }
