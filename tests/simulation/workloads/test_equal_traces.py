"""Traces that do the same become one when they are read, and every figure is that of all ranks alone."""

from __future__ import annotations

import pytest

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome
from dse.simulation.workloads import NativeGenerator, Workload, workload_of
from dse.testing.builders import ALL_REDUCE, Node, coll, comp, recv, send, system, workload

MODEL = ModelSpec("small", 64, 64, 64, 128, 4, 32, 16, 4)


def both_ways(work: Workload, on: SystemSpec) -> tuple[Outcome, Outcome]:
    return NativeSimulator().simulate(work, on), NativeSimulator("general").simulate(work, on)


def figures(outcome: Outcome) -> list[object]:
    return [outcome.rank(rank) for rank in range(outcome.rank_count)]


@pytest.mark.parametrize("strategy", [Strategy(dp=4, tp=4), Strategy(dp=2, tp=2, pp=4), Strategy(tp=4, pp=4)])
def test_traces_of_a_generated_job_are_simulated_by_classes_again(strategy: Strategy) -> None:
    generated = NativeGenerator().generate(MODEL, strategy, "stage")
    groups = {name: list(ranks) for name, ranks in _groups(generated.groups_json()).items()}
    read = workload_of([generated.trace_bytes(rank) for rank in range(16)], groups)
    on = system("Switch 16 @100/50")
    by_classes, alone = both_ways(read, on)
    assert by_classes.obstacle is None
    assert len(by_classes.classes) == strategy.pp
    assert figures(by_classes) == figures(alone) == figures(NativeSimulator().simulate(generated, on))


def _groups(text: str) -> dict[str, list[int]]:
    import json

    groups: dict[str, list[int]] = json.loads(text)
    return groups


def test_neighbours_of_which_one_talks_to_another_kind_stay_alone() -> None:
    """Ranks 0 and 1 do the same a number apart, but rank 3 computes first and rank 2 does not."""
    ranks: list[list[Node]] = [
        [send(1, 2, 1000, tag=5), comp(2, after=[1])],
        [send(1, 3, 1000, tag=6), comp(2, after=[1])],
        [recv(1, 0, 1000, tag=5), comp(2, after=[1])],
        [comp(1), recv(2, 1, 1000, tag=6, after=[1])],
    ]
    folded, alone = both_ways(workload(*ranks), system("Switch 4 @100/50"))
    assert folded.status == "ok"
    assert figures(folded) == figures(alone)


def test_ranks_with_different_groups_but_equal_nodes_are_one_class() -> None:
    ranks = [[comp(1), coll(2, ALL_REDUCE, 1000, group=str(1 + rank // 2), after=[1])] for rank in range(4)]
    outcome, alone = both_ways(workload(*ranks, groups={"1": [0, 1], "2": [2, 3]}), system("Ring 4 @100/50"))
    assert list(outcome.class_of_rank) == [0, 0, 0, 0]
    assert figures(outcome) == figures(alone)
