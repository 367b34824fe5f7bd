"""Communication that crosses slower links than the congestion-unaware model charges for is named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.simulation.simulators.understated import understated_communication
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.testing.builders import TINY

DGX16 = compose_config(["system=dgx16"]).system
TORUS = compose_config(["system=torus_4x4"]).system
TP_8 = "tp 8 is charged for dimension 0, not for 1"


def system(*sizes: int, bandwidths: tuple[float, ...]) -> SystemSpec:
    network = [
        Dimension("Switch", size, bandwidth, 10) for size, bandwidth in zip(sizes, bandwidths, strict=True)
    ]
    rings = ("ring",) * len(sizes)
    return SystemSpec("any", tuple(network), CollectiveAlgorithms(*[rings] * 4), 450, 3000)


def with_slow_nodes(system: SystemSpec, bandwidth_gbps: float) -> SystemSpec:
    inner, outer = system.network
    return replace(system, network=(inner, replace(outer, bandwidth_gbps=bandwidth_gbps)))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Strategy(dp=2, tp=8), TP_8),
        (Strategy(dp=8, tp=2), None),  # dp within the nodes, tp between them
        (Strategy(dp=16), None),  # a collective over all NPUs goes dimension by dimension
        (Strategy(dp=4, tp=4), "tp 4 is charged for dimension 0, not for 1"),
        (Strategy(dp=4, tp=2, pp=2), None),  # stages meet between the nodes alone
        (Strategy(dp=4, pp=4), "pp 4 is charged for dimension 0, not for 1"),
    ],
)
def test_groups_that_cross_the_links_between_nodes_are_named(
    strategy: Strategy, expected: str | None
) -> None:
    assert understated_communication(TINY, strategy, DGX16) == expected


def test_the_time_of_such_a_point_does_not_know_the_links_between_nodes_and_the_row_says_so() -> None:
    rows = [
        evaluate(DesignPoint(Scenario("s", TINY, with_slow_nodes(DGX16, gbps)), Strategy(2, 8)))
        for gbps in (25, 0.25)
    ]
    assert rows[0].wall_time_ns == rows[1].wall_time_ns == 1_437_850
    assert [row.understated_comm for row in rows] == [TP_8, TP_8]


def test_a_realistic_model_on_this_network_says_it_too() -> None:
    row = evaluate(DesignPoint(Scenario("s", replace(TINY, fidelity="realistic"), DGX16), Strategy(2, 8)))
    assert (row.status, row.understated_comm) == ("ok", TP_8)


def test_a_logical_ring_over_all_npus_crosses_what_the_phases_of_other_algorithms_do_not() -> None:
    one_ring = replace(DGX16, collectives=CollectiveAlgorithms(*[("oneRing",)] * 4))
    expected = "dp 16 is charged for dimension 0, not for 1"
    assert understated_communication(TINY, Strategy(dp=16), one_ring) == expected


def test_equal_or_faster_links_and_other_models_are_not_named() -> None:
    assert understated_communication(TINY, Strategy(dp=2, tp=8), TORUS) is None
    assert understated_communication(TINY, Strategy(dp=2, tp=8), with_slow_nodes(DGX16, 900)) is not None
    fast = replace(DGX16, network=(DGX16.network[0], Dimension("Switch", 2, 900, 20)))
    assert understated_communication(TINY, Strategy(dp=2, tp=8), fast) is None
    aware = replace(DGX16, network_model="congestion_aware")
    assert understated_communication(TINY, Strategy(dp=2, tp=8), aware) is None


sizes = st.lists(st.sampled_from([2, 3, 4]), min_size=2, max_size=3)


@settings(deadline=None, max_examples=60)
@given(st.data(), sizes)
def test_the_axes_are_those_whose_groups_have_neighbours_across_slower_dimensions(
    data: st.DataObject, sizes: list[int]
) -> None:
    bandwidths = data.draw(st.permutations([100.0, 50.0, 25.0]))[: len(sizes)]
    on = system(*sizes, bandwidths=tuple(bandwidths))
    dp = data.draw(st.sampled_from([d for d in range(1, on.npus + 1) if on.npus % d == 0]))
    tp = data.draw(st.sampled_from([d for d in range(1, on.npus // dp + 1) if on.npus // dp % d == 0]))
    strategy = Strategy(dp, tp, on.npus // dp // tp)
    expected = set()
    groups = json.loads(generate(TINY, strategy).groups_json())
    for ranks in groups.values():
        for source, target in zip(ranks, [*ranks[1:], ranks[0]], strict=True):
            crossed = crossed_dimensions(source, target, sizes)
            if len(ranks) < on.npus and any(bandwidths[d] < bandwidths[crossed[0]] for d in crossed[1:]):
                axis = {1: "dp", dp: "tp", dp * tp: "sp"}[min(abs(a - ranks[0]) for a in ranks[1:])]
                expected.add(axis)
    text = understated_communication(TINY, strategy, on)
    assert {part.split()[0] for part in text.split("; ")} == expected if text else not expected


def crossed_dimensions(source: int, target: int, sizes: list[int]) -> list[int]:
    crossed = []
    for dimension, size in enumerate(sizes):
        if source % size != target % size:
            crossed.append(dimension)
        source, target = source // size, target // size
    return crossed
