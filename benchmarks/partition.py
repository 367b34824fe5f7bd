"""Section `partition`: our multilevel partitions against those of PyMetis and KaHIP, on their own objective.

Edge cut of balanced parts (`process_mapping` without distances, imbalance 5 %): on graphs of real models.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.cases import Cases
from benchmarks.partition_packages import KaHIP, PyMetis
from dse.base.errors import InputError
from dse.partition.graphs.graph import ModelGraph
from dse.partition.objectives import evaluate
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners.multilevel import Multilevel

Row = dict[str, str | int | float | bool | None]

PACKAGES = (PyMetis, KaHIP)
_PARTS = (2, 4, 8, 16)
_SEEDS = 5  # of each package: the best counts
_IMBALANCE = 0.05
_NODES_PER_PART = 8


def partition(cases: Cases, repeats: int) -> Iterator[Row]:
    """Compare on the first `cases.partitioned` of the real graphs."""
    from benchmarks.partition_graphs import RATES, real_graphs
    from dse.partition.graphs.sources.source import model_graph

    del repeats
    with tempfile.TemporaryDirectory() as folder:
        for name, source in itertools.islice(real_graphs(Path(folder)), cases.partitioned):
            graph = model_graph(source, "time", RATES, ())
            # Whole weights for all: packages round theirs.
            yield from compared([(name, ModelGraph((1.0,) * graph.nodes, graph.edges))], _PARTS)


def compared(graphs: Iterable[tuple[str, ModelGraph]], parts: Sequence[int] = _PARTS) -> Iterator[Row]:
    """Yield a row for each graph and number of parts: cut and seconds of ours and of each package.

    A package that is not installed, or whose partition is out of balance, has no figures. `not_worse` is
    whether our cut is at most the best of theirs, None where nobody found a balanced partition.
    """
    for name, graph in graphs:
        for count in parts:
            if graph.nodes < _NODES_PER_PART * count:
                continue
            problem = PartitionProblem(graph, Devices(count), "process_mapping", imbalance=_IMBALANCE)
            row: Row = {"graph": name, "nodes": graph.nodes, "edges": len(graph.edges), "parts": count}
            for kind in (Multilevel, *PACKAGES):
                restarts = _SEEDS if kind in PACKAGES else None
                row |= _measured(kind(), problem, Limits(restarts=restarts))
            ours = row["multilevel_cut"]
            theirs = [cut for package in PACKAGES if isinstance(cut := row[f"{package.name}_cut"], float)]
            if ours is None and not theirs:
                row["not_worse"] = None
            else:
                row["not_worse"] = isinstance(ours, float) and all(ours <= cut for cut in theirs)
            yield row


def _measured(partitioner: Partitioner, problem: PartitionProblem, limits: Limits) -> Row:
    try:
        answer = partitioner.partition(problem, limits)
    except (InfeasiblePartition, InputError):
        return {f"{partitioner.name}_cut": None, f"{partitioner.name}_s": None}
    cut = float(evaluate(problem, answer.labels))
    return {f"{partitioner.name}_cut": cut, f"{partitioner.name}_s": answer.seconds}
