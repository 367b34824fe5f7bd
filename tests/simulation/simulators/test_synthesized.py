"""Synthesised collectives in a simulation: one delay, or sends on links that take what a replay says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.collectives import LinkModel
from dse.collectives.search.replay import Replay
from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, LinkFault, SystemSpec, write_system
from dse.inputs.systems.links import link_graph
from dse.native import _engine
from dse.simulation.simulators.made_schedules import schedules_for
from dse.simulation.simulators.native import NativeSimulator, native_system
from dse.simulation.simulators.synthesized import group_graph, needs, quality_of_schedules
from dse.simulation.workloads import Workload, generate
from dse.testing.builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    TINY,
    coll,
    comp,
    finish,
    system,
    workload,
)

SHARE = 1 << 20
KINDS = {
    "all_gather": ALL_GATHER,
    "all_reduce": ALL_REDUCE,
    "reduce_scatter": REDUCE_SCATTER,
    "all_to_all": ALL_TO_ALL,
}
GRAPH = """5
Src,Dest,Latency (ns),Bandwidth (GB/s)
0,1,500,50
1,0,500,50
1,2,100.5,200
2,1,100.5,200
2,3,500,50
3,2,250,33.3
3,0,500,50
0,3,500,12.5
4,1,0,70
1,4,10,70
4,3,700,25
3,4,700,25
"""


def synthesized(network: str, algorithms: str = "synthesized", *, aware: bool = False) -> SystemSpec:
    """A system all of whose collectives are synthesised."""
    model = "congestion_aware" if aware else "congestion_unaware"
    names = tuple(algorithms.split())
    return replace(
        system(network),
        collectives=CollectiveAlgorithms(*[names] * 4),
        network_model=model,
        endpoint_delay_ns=10,
    )


def on_graph(folder: Path, *, aware: bool) -> SystemSpec:
    """A system whose network is a graph of unequal links."""
    path = folder / "graph.csv"
    path.write_text(GRAPH)
    spec = synthesized("Ring 5 @100/50", aware=aware)
    return replace(spec, network=(Dimension("Graph", 5, 1, 0, file=str(path)),))


def one_collective(npus: int, name: str, share: int = SHARE) -> Workload:
    """One collective of all ranks, of which each has a share."""
    size = share if name == "all_gather" else share * npus
    return workload(*([coll(1, KINDS[name], size)] for _ in range(npus)))


def replayed_ns(spec: SystemSpec, work: Workload, name: str) -> Fraction:
    """What the fastest schedule takes with floors to ns, played alone."""
    (need,) = [need for need in needs(spec, work.native) if need.collective == name]
    made = schedules_for(name, need.graph, need.synthesizer)
    sizes = [Fraction(SHARE, c.schedule.problem.collective.chunks_per_npu) for c in made.curves]
    best, size = min(zip(made.curves, sizes, strict=True), key=lambda pair: pair[0].time_ps(pair[1]))
    problem = replace(best.schedule.problem, chunk_bytes=size, model=LinkModel("gib", "bandwidth", "ns"))
    times = Replay(best.schedule).times_ps(problem.arrival_ps[:, None], problem.held_ps[:, None])
    return Fraction(int(times[0]), 1000)


@pytest.mark.parametrize("name", KINDS)
def test_the_sends_take_exactly_what_a_replay_says(name: str, tmp_path: Path) -> None:
    spec = on_graph(tmp_path, aware=True)
    work = one_collective(5, name)

    assert max(finish(work, spec)) == replayed_ns(spec, work, name)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("network", ["Switch 4 @100/50", "Ring 3 @100/50, FullyConnected 2 @25/500"])
def test_so_they_do_over_switches_and_over_all_dimensions_at_once(name: str, network: str) -> None:
    spec = synthesized(network, aware=True)
    work = one_collective(spec.npus, name)

    assert max(finish(work, spec)) == replayed_ns(spec, work, name)


def test_switches_that_neither_copy_nor_add_take_longer() -> None:
    """Each link carries 3 shares where switches add and copy, and 4 where they do not."""
    active = synthesized("Switch 3 @100/50", aware=True)
    passive = replace(active, switch_copies=False, switch_adds=False)
    work = one_collective(3, "all_reduce")

    assert max(finish(work, active)) == 31_833
    assert max(finish(work, passive)) == replayed_ns(passive, work, "all_reduce") == 41_597


@pytest.mark.parametrize("name", KINDS)
def test_unaware_of_congestion_it_is_one_delay_and_never_shorter(name: str, tmp_path: Path) -> None:
    work = one_collective(5, name)
    unaware = finish(work, on_graph(tmp_path, aware=False))
    aware = max(finish(work, on_graph(tmp_path, aware=True)))

    assert len(set(unaware)) == 1
    assert aware <= unaware[0] <= aware + 100


@pytest.mark.parametrize("aware", [False, True])
def test_it_begins_when_the_last_member_is_there(aware: bool) -> None:
    spec = synthesized("Ring 4 @100/50", aware=aware)
    late = workload(
        *([comp(1, 10**9 * rank), coll(2, ALL_GATHER, SHARE, after=[1])] for rank in (1, 1, 1, 9))
    )
    alone = max(finish(one_collective(4, "all_gather"), spec))
    last_starts = max(finish(workload(*([comp(1, 10**9 * rank)] for rank in (1, 1, 1, 9))), spec))

    ends = finish(late, spec)

    if aware:
        assert last_starts < max(ends) <= last_starts + alone
    else:
        assert set(ends) == {last_starts + alone}


@pytest.mark.parametrize("degrees", [{"dp": 8}, {"sp": 8}, {"tp": 4, "dp": 2}, {"tp": 2, "sp": 2, "pp": 2}])
def test_one_rank_of_each_class_takes_as_long_as_every_rank(degrees: dict[str, int]) -> None:
    spec = replace(
        synthesized("Ring 4 @100/50, Switch 2 @25/500"), peak_tflops=450, memory_bandwidth_gbps=3000
    )
    work = generate(TINY, Strategy(**degrees))

    by_class = NativeSimulator("auto").simulate(work, spec)
    every = NativeSimulator("general").simulate(work, spec)

    if len(degrees) == 1:  # groups of other strategies have different links here
        assert by_class.obstacle is None
    assert [by_class.rank(rank) for rank in range(8)] == [every.rank(rank) for rank in range(8)]


def test_groups_have_schedules_of_their_own_links() -> None:
    spec = synthesized("Ring 4 @100/50, Ring 4 @25/500", aware=True)
    columns = {str(c): [c, c + 4, c + 8, c + 12] for c in range(4)}
    work = workload(
        *([coll(1, ALL_GATHER, SHARE, group=str(rank % 4))] for rank in range(16)), groups=columns
    )

    found = list(needs(spec, work.native))

    assert [need.scope for need in found] == ["communicator"] * 4
    assert len({need.graph.digest for need in found}) == 1
    (made,) = {id(schedules_for(need.collective, need.graph)) for need in found}
    assert made
    ring = finish(work, replace(spec, collectives=CollectiveAlgorithms(*[("ring", "ring")] * 4)))
    assert max(finish(work, spec)) < max(ring)


def test_npus_outside_a_group_relay_only_if_its_own_links_do_not_join_it() -> None:
    network = link_graph(synthesized("Ring 6 @100/50"), None, "nodes")

    joined, own = group_graph(network, [2, 3, 4])
    apart, with_relays = group_graph(network, [1, 4])

    assert (joined.nodes, own) == (3, (2, 3, 4))
    assert (apart.npus, apart.nodes, with_relays) == (2, 6, (1, 4, 2, 3, 5, 0))


def test_schedules_go_round_links_that_fail_at_the_start_but_not_per_dimension() -> None:
    fault = (LinkFault(0, 1, removed=True),)
    whole = replace(synthesized("Ring 4 @100/50", aware=True), faults=fault)
    sound = max(finish(one_collective(4, "all_gather"), synthesized("Ring 4 @100/50", aware=True)))

    assert max(finish(one_collective(4, "all_gather"), whole)) > sound
    lines = replace(
        synthesized("Ring 3 @9/9, Ring 2 @9/9", "synthesized synthesized", aware=True), faults=fault
    )
    with pytest.raises(InputError, match=r"write system\.collectives\.all_gather=\[synthesized\]"):
        NativeSimulator().simulate(one_collective(6, "all_gather"), lines)


def test_a_rank_that_never_comes_is_named() -> None:
    groups = {"0": [0, 1, 2]}
    work = workload(
        [coll(1, ALL_GATHER, SHARE, group="0")],
        [coll(1, ALL_GATHER, SHARE, group="0")],
        [comp(1)],
        groups=groups,
    )
    for aware in (False, True):
        outcome = NativeSimulator("general").simulate(work, synthesized("Ring 3 @100/50", aware=aware))
        assert outcome.status == "deadlock"
        assert 2 in outcome.blocked[0].peers


def test_the_engine_alone_has_no_schedules() -> None:
    spec = synthesized("Ring 4 @100/50")

    with pytest.raises(Exception, match="no schedule has been made for it"):
        _engine.simulate(one_collective(4, "all_gather").native, native_system(spec))


def test_how_far_the_schedules_are_from_the_optimum_is_said() -> None:
    work = one_collective(4, "all_gather")
    assert quality_of_schedules(system("Ring 4 @100/50"), work.native) is None
    found = quality_of_schedules(synthesized("Ring 4 @100/50"), work.native)
    assert found == "all_gather among 4 NPUs: optimal"


def test_a_name_may_choose_the_synthesizer(tmp_path: Path) -> None:
    work = one_collective(5, "all_gather")
    times = {}
    for name in ("synthesized", "synthesized:greedy", "synthesized:arrival", "synthesized:beam"):
        spec = replace(on_graph(tmp_path, aware=True), collectives=CollectiveAlgorithms(all_gather=(name,)))
        (need,) = needs(spec, work.native)
        made = schedules_for("all_gather", need.graph, need.synthesizer)
        assert need.synthesizer == (None if name == "synthesized" else name.partition(":")[2])
        assert max(finish(work, spec)) == replayed_ns(spec, work, "all_gather")
        times[name] = min(each.time_ps(Fraction(SHARE)) for each in made.curves)
    assert times["synthesized"] <= times["synthesized:greedy"]
    assert len(set(times.values())) > 1


def test_a_synthesizer_that_cannot_take_a_groups_links_makes_the_point_infeasible(tmp_path: Path) -> None:
    spec = replace(
        on_graph(tmp_path, aware=False),
        collectives=CollectiveAlgorithms(all_gather=("synthesized:symmetric",)),
    )
    with pytest.raises(
        InfeasibleStrategy, match="all_gather among 5 NPUs cannot be made by symmetric: the lin"
    ):
        NativeSimulator().simulate(one_collective(5, "all_gather"), spec)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("synthesized:exact", "is 'synthesized:exact', but exact may end by the clock"),
        ("oneSynthesized:auto", "choose fast, greedy, .*, or 'oneSynthesized' for the better of"),
        ("synthesized:", "is 'synthesized:'; the synthesizer after the colon must be one of fast, greedy"),
        ("synthesized:Beam", "is 'synthesized:Beam'; the synthesizer after the colon must be one of"),
        ("ring:beam", "ring:beam"),
    ],
)
def test_a_synthesizer_that_is_not_known_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"system\.collectives\.all_reduce\.0 .*{problem}"):
        replace(system("Ring 4 @100/50"), collectives=CollectiveAlgorithms(all_reduce=(name,)))


@pytest.mark.parametrize("name", ["synthesized", "oneSynthesized", "synthesized:beam"])
def test_astrasims_files_have_no_place_for_schedules(name: str, tmp_path: Path) -> None:
    spec = replace(system("Ring 4 @100/50"), collectives=CollectiveAlgorithms(reduce_scatter=(name,)))
    message = rf"system\.collectives\.reduce_scatter has '{name}', which ASTRA-sim does not know.*\[chakra\]"
    with pytest.raises(InputError, match=message):
        write_system(spec, tmp_path / "files")
    assert not (tmp_path / "files").exists()
