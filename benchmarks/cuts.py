"""Section `cuts`: the search of `dse partition` beside KaHIP at equal CPU time, on graphs made from seeds.

Edge cut of parts within 3 % of the mean. KaHIP's cut is the best of its modes `strong` and `strongsocial`
over some seeds; the CPU time of all these runs together is the time that the search has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.cases import Cases
from benchmarks.partition_packages import KaHIP, undirected
from dse.base.lazy import is_installed
from dse.partition.objectives import evaluate
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners.multilevel import Multilevel

Row = dict[str, str | int | float | bool | None]

_IMBALANCE = 0.03
_MODES = ("STRONG", "STRONGSOCIAL")
_SEEDS = 10  # of KaHIP, at most,
_ENOUGH_S = 3.0  # and no other one after so much CPU time
_GRAPH_SEED = 7
_TRIES = 4
_LEAST_USED, _MOST_USED = 0.9, 1.03  # parts of the CPU time that the search shall use


def cuts(cases: Cases, repeats: int) -> Iterator[Row]:
    """Compare on every graph of `cases.cut`; nothing where KaHIP is missing, with a note."""
    del repeats
    if not is_installed("kahip"):
        print("kahip is missing (pip install 'dse[partition]'): no cuts beside KaHIP's", file=sys.stderr)
        return
    for case in cases.cut:
        graph = case.make(_GRAPH_SEED)
        problem = PartitionProblem(graph, Devices(case.parts), "process_mapping", imbalance=_IMBALANCE)
        theirs, their_s, seeds = _by_kahip(problem)
        ours, our_s = _by_search(problem, their_s)
        yield {
            "graph": case.kind,
            "nodes": graph.nodes,
            "edges": len(graph.edges),
            "parts": case.parts,
            "ours_cut": ours,
            "kahip_cut": theirs,
            "more_pct": 100 * (ours / max(theirs, 1) - 1),
            "ours_cpu_s": our_s,
            "kahip_cpu_s": their_s,
            "kahip_seeds": seeds,
        }


def _by_kahip(problem: PartitionProblem) -> tuple[int, float, int]:
    """Return the best cut, the CPU time of all runs, and the number of seeds."""
    rows, ends = undirected(problem), np.array(problem.graph.edges)
    best, used_s, seed = len(ends), 0.0, 0
    while seed < _SEEDS and used_s < _ENOUGH_S:
        for mode in _MODES:
            kahip = KaHIP(mode)
            package, began = kahip.load(), time.process_time()
            parts = np.array(kahip.parts(package, rows, problem, seed))
            used_s += time.process_time() - began
            best = min(best, int((parts[ends[:, 0]] != parts[ends[:, 1]]).sum()))
        seed += 1
    return best, used_s, seed


def _by_search(problem: PartitionProblem, cpu_s: float) -> tuple[int, float]:
    """Return the cut of a search that has a CPU time, and the time that it took.

    Its limit is wall time: beside other programs a search gets less of the CPU, and is tried again with more.
    """
    limit_s, kept = cpu_s, None
    for _ in range(_TRIES):
        began = time.process_time()
        answer = Multilevel().partition(problem, Limits(time_limit_s=limit_s))
        used_s = time.process_time() - began
        if kept is None or used_s <= _MOST_USED * cpu_s:
            kept = round(evaluate(problem, answer.labels)), used_s
        if _LEAST_USED * cpu_s <= used_s <= _MOST_USED * cpu_s:
            break
        limit_s *= cpu_s / used_s
    assert kept is not None
    return kept
