"""Faults of links and slow NPUs: detours, times, classes of ranks, errors; the same from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok
from shapes import MODELS, UNAWARE, Message, arrivals, fabric, steps, system

from dse.base.errors import InputError, SimulationError
from dse.inputs.strategies import Strategy
from dse.inputs.systems import Derating, LinkFault, SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome
from dse.simulation.simulators.native import EngineMethod
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.testing.builders import ALL_REDUCE, TINY, coll, comp, finish, recv, run, send, workload

MESH = system("Mesh2D 4x4")
SMALL = 1000  # 20 ns on a link, 520 ns with its latency
BIG = 100_000  # 2000 ns on a link
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")


def _with(*faults: LinkFault, on: SystemSpec = MESH) -> SystemSpec:
    return replace(on, faults=faults)


def test_a_removed_link_is_gone_and_its_routes_go_round() -> None:
    broken = _with(LinkFault(2, 3, removed=True))
    of, whole = fabric(broken), fabric(MESH)
    assert {link[:2] for link in whole.links} - {link[:2] for link in of.links} == {(2, 3)}
    assert whole.route(1, 7) == [1, 2, 3, 7]
    assert of.route(1, 7) == [1, 2, 6, 7]
    assert of.route(2, 3) == [2, 1, 5, 6, 7, 3] or of.route(2, 3) == [2, 6, 7, 3]
    assert of.route(3, 2) == [3, 2]  # the other direction is another link
    assert arrivals(broken, Message(1, 7, SMALL)) == [1560]
    assert arrivals(broken, Message(2, 3, SMALL)) == [1560]
    assert arrivals(MESH, Message(2, 3, SMALL)) == [520]


def test_every_pair_goes_round_whatever_single_link_is_removed() -> None:
    for source, destination, *_ in fabric(MESH).links:
        of = fabric(_with(LinkFault(source, destination, removed=True)))
        for a in range(16):
            for b in range(16):
                route = of.route(a, b)
                assert (source, destination) not in steps(route)
                assert len(route) - 1 <= abs(a % 4 - b % 4) + abs(a // 4 - b // 4) + 2


def test_a_slow_link_doubles_the_serialisation_and_its_latency_has_a_factor_of_its_own() -> None:
    message = Message(1, 7, BIG)  # 3 links of 2500
    assert arrivals(MESH, message) == [7500]
    assert arrivals(_with(LinkFault(2, 3, bandwidth_factor=0.5)), message) == [9500]
    assert arrivals(_with(LinkFault(2, 3, latency_factor=3)), message) == [8500]
    both = LinkFault(2, 3, bandwidth_factor=0.5, latency_factor=0)
    assert arrivals(_with(both), message) == [9000]
    assert arrivals(_with(both, both), message) == [13000]  # factors multiply: 8000 on that link
    pair = system("FullyConnected 2 @50/0")
    assert arrivals(pair, Message(0, 1, BIG)) == [2000]
    assert arrivals(_with(LinkFault(0, 1, bandwidth_factor=0.5), on=pair), Message(0, 1, BIG)) == [4000]


def test_a_slow_link_keeps_its_routes() -> None:
    of = fabric(_with(LinkFault(2, 3, bandwidth_factor=0.001)))
    assert of.route(1, 7) == [1, 2, 3, 7]


def _ten_messages(on: SystemSpec, size: int = SMALL) -> list[int]:
    """NPU 0 sends ten messages to NPU 1, the next when the one before is there; return the last arrival."""
    ranks = [[comp(1, ops=1, size=3000)] for _ in range(on.npus)]
    ranks[0] = [send(number, to=1, size=size, after=[number - 1][: number - 1]) for number in range(1, 11)]
    ranks[1] = [recv(number, source=0, size=size) for number in range(1, 11)]
    return finish(workload(*ranks), on)[:2]


def test_a_fault_at_a_time_holds_from_that_time_on() -> None:
    ring = system("Ring 4")
    assert _ten_messages(ring) == [5200, 5200]
    # from 2600 on (the sixth message) 3 links round instead of 1
    later = LinkFault(0, 1, removed=True, at_ns=2000)
    assert _ten_messages(_with(later, on=ring)) == [4 * 520 + 6 * 1560] * 2
    # a message that was sent at 1560 is not stopped, and one that is sent at the tick of the fault goes round
    assert _ten_messages(_with(replace(later, at_ns=2079), on=ring)) == [4 * 520 + 6 * 1560] * 2
    assert _ten_messages(_with(replace(later, at_ns=2080), on=ring)) == [4 * 520 + 6 * 1560] * 2
    assert _ten_messages(_with(replace(later, at_ns=2081), on=ring)) == [5 * 520 + 5 * 1560] * 2
    slow = LinkFault(0, 1, bandwidth_factor=0.5, at_ns=2000)
    assert _ten_messages(_with(slow, on=ring)) == [4 * 520 + 6 * 540] * 2


def test_a_fault_after_the_end_changes_nothing_but_must_name_a_link() -> None:
    ring = system("Ring 4")
    assert _ten_messages(_with(LinkFault(0, 1, removed=True, at_ns=10**12), on=ring)) == [5200, 5200]
    with pytest.raises(InputError, match="there is no link from device 0 to device 2"):
        _ten_messages(_with(LinkFault(0, 2, removed=True, at_ns=10**12), on=ring))


@pytest.mark.parametrize("at_ns", [0, 2000])
def test_no_way_left_is_an_error_that_names_two_npus(at_ns: int) -> None:
    pair = system("FullyConnected 2")
    with pytest.raises(SimulationError, match="removed links leave no way from NPU 0 to NPU 1"):
        _ten_messages(_with(LinkFault(0, 1, removed=True, at_ns=at_ns), on=pair))


def test_a_way_that_nobody_needs_may_be_missing() -> None:
    assert _ten_messages(_with(LinkFault(1, 0, removed=True), on=system("FullyConnected 2"))) == [5200, 5200]


def test_links_of_switches_are_named_by_devices() -> None:
    on = system("Switch 4,Ring 3")
    of = fabric(on)
    # 12 NPUs, then the switches of the three lines of four
    assert of.route(0, 3) == [0, 12, 3]
    assert of.route(8, 11) == [8, 14, 11]
    slow = _with(LinkFault(8, 14, bandwidth_factor=0.5), on=on)
    assert arrivals(slow, Message(8, 11, BIG)) == [4500 + 2500]
    assert arrivals(slow, Message(0, 3, BIG)) == [5000]
    # without its link to the switch, NPU 8 goes by another line
    broken = _with(LinkFault(8, 14, removed=True), on=on)
    route = fabric(broken).route(8, 11)
    assert (route[0], route[-1], len(route)) == (8, 11, 5)


def test_a_fault_needs_links(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        replace(MESH, network_model=UNAWARE, faults=(LinkFault(0, 1, removed=True),))
    assert "faults.0 needs network_model congestion_aware" in str(caught.value)
    message = error_of("point", *TORUS, "system.faults=[{source: 0, destination: 1}]", cwd=tmp_path)
    assert "system.faults.0 needs network_model congestion_aware; congestion_unaware has no links" in message


def test_an_unknown_link_names_its_devices() -> None:
    with pytest.raises(InputError) as caught:
        fabric(_with(LinkFault(0, 5, removed=True)))
    assert "there is no link from device 0 to device 5 (devices 0 to 15 are the NPUs" in str(caught.value)
    with pytest.raises(InputError, match="there is no link from device 0 to device 5"):
        arrivals(_with(LinkFault(0, 5, removed=True)), Message(0, 1, SMALL))


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (LinkFault(-1, 0), "faults.0.source is -1"),
        (LinkFault(0, 1, bandwidth_factor=0), "faults.0.bandwidth_factor is 0; it must be a number greater"),
        (LinkFault(0, 1, latency_factor=-1), "faults.0.latency_factor is -1; it must be a number 0 or"),
        (LinkFault(0, 1, at_ns=-1), "faults.0.at_ns is -1; it must be an integer from 0 to 9007199254740991"),
    ],
)
def test_a_wrong_fault_names_key_and_value(fault: LinkFault, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        _with(fault)
    assert problem in str(caught.value)


# Slow NPUs


def test_a_straggler_slows_itself_and_those_that_wait_for_it() -> None:
    # compute bound: 9 x 10^8 operations at 900 TFLOPS are 1000 ns; memory bound: 3 x 10^6 bytes, 1000 ns
    on = system("Ring 4")
    nodes = [comp(1, ops=9 * 10**8, size=1), comp(2, ops=1, size=3 * 10**6, after=[1])]
    alone = workload(*[nodes] * 4)
    assert finish(alone, on) == [2000] * 4
    assert finish(alone, replace(on, deratings=(Derating(3, compute_factor=0.5),))) == [2000] * 3 + [3000]
    assert finish(alone, replace(on, deratings=(Derating(3, memory_factor=0.25),))) == [2000] * 3 + [5000]
    both = replace(on, deratings=(Derating(3, 0.5, 0.25), Derating(0, 2.0)))
    assert finish(alone, both) == [1500, 2000, 2000, 6000]

    together = workload(*[[*nodes, coll(3, ALL_REDUCE, 4000, after=[2])]] * 4)
    # 6 steps of 520 + 10 ns, 3 of them with a reduction that takes less than 1 ns
    assert finish(together, on) == [2000 + 10 + 6 * 530] * 4
    # the recurrence of section 10.2 by hand: NPU 3 is there 1000 ns late, and then has two packets for NPU 0
    # 10 ns apart, each of which takes 20 ns on the link
    late = replace(on, deratings=(Derating(3, 0.5),))
    assert finish(together, replace(late, network_model=UNAWARE)) == [5670, 6190, 5190, 5190]
    assert finish(together, late) == [5680, 6190, 5190, 5190]


def test_utilisation_is_of_the_derated_peak() -> None:
    nodes = [comp(1, ops=9 * 10**8, size=1)]
    on = replace(system("Ring 4"), deratings=(Derating(3, compute_factor=0.5),))
    figures = run(workload(*[nodes] * 4), on)
    assert [rank.gpu_time_ns for rank in figures] == [1000] * 3 + [2000]
    assert [round(rank.compute_utilization_pct) for rank in figures] == [100] * 4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", [Strategy(tp=8), Strategy(dp=2, tp=2, pp=2), Strategy(dp=8)])
def test_classes_are_split_by_deratings_and_give_what_every_rank_gives(
    strategy: Strategy, model: str
) -> None:
    on = system("Switch 8", model=model, peak_tflops=9, deratings=(Derating(3, 0.5, 0.5),))
    work = generate(TINY, strategy)
    auto, general = (NativeSimulator(engine).simulate(work, on) for engine in ENGINES)
    ranks = range(8)
    assert auto.status == general.status
    assert [auto.rank(rank) for rank in ranks] == [general.rank(rank) for rank in ranks]
    whole = NativeSimulator().simulate(work, replace(on, deratings=()))
    if auto.status == "ok":
        assert _wall_time(auto) > _wall_time(whole)
    # a derating by 1 changes nothing
    same = NativeSimulator().simulate(work, replace(on, deratings=(Derating(3),)))
    assert [same.rank(rank) for rank in ranks] == [whole.rank(rank) for rank in ranks]


def _wall_time(outcome: Outcome) -> int:
    return max(metrics.wall_time_ns for metrics in outcome.classes if metrics is not None)


@pytest.mark.parametrize("model", MODELS)
def test_a_straggler_can_make_a_point_deadlock(model: str) -> None:
    """Each rank starts the ready communication node of the lowest id (section 4.2).

    With dp 16 gradients of several layers wait for the slot. A rank that computes later finds others ready
    than its peers, so that two ranks start the same collectives in different orders and wait for each other.
    That is what the reference does; it is a status of the point, and the report names nodes and ranks.
    """
    on = replace(compose_config(["system=torus_4x4"]).system, network_model=model)
    work = generate(TINY, Strategy(dp=16))
    assert NativeSimulator().simulate(work, on).status == "ok"
    outcome = NativeSimulator().simulate(work, replace(on, deratings=(Derating(3, 0.5),)))
    assert outcome.status == "deadlock"
    assert outcome.reason.startswith("16 of 16 ranks never finish; rank 0: all-reduce node")


@pytest.mark.parametrize(
    ("derating", "problem"),
    [
        (Derating(16), "deratings.0.npu is 16, but the network has 16 NPUs"),
        (Derating(-1), "deratings.0.npu is -1"),
        (Derating(0, compute_factor=0), "deratings.0.compute_factor is 0; it must be a number greater than"),
        (Derating(0, memory_factor=-2), "deratings.0.memory_factor is -2; it must be a number greater than"),
    ],
)
def test_a_wrong_derating_names_key_and_value(derating: Derating, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(MESH, deratings=(derating,))
    assert problem in str(caught.value)


# From the command line

TORUS = ("system=torus_4x4", "model=tiny", "strategy.tp=16")
AWARE_TORUS = (*TORUS, "system.network_model=congestion_aware")
LATER = "[{source: 0, destination: 1, removed: true, at_ns: 5000000}]"


def test_overrides_make_faults_and_deratings() -> None:
    on = compose_config(
        [
            *AWARE_TORUS,
            "system.faults=[{source: 0, destination: 1, removed: true}]",
            "system.deratings=[{npu: 3, compute_factor: 0.5}]",
        ]
    ).system
    assert on.faults == (LinkFault(0, 1, removed=True),)
    assert on.deratings == (Derating(3, compute_factor=0.5),)


@pytest.mark.parametrize(
    ("overrides", "wall_time_ns"),
    [
        (TORUS, 3_179_551),
        ((*TORUS, "system.deratings=[{npu: 3, compute_factor: 0.5}]"), 3_264_187),
        (AWARE_TORUS, 10_020_363),
        ((*AWARE_TORUS, "system.deratings=[{npu: 3, compute_factor: 0.5}]"), 10_111_437),
        ((*AWARE_TORUS, "system.faults=[{source: 0, destination: 1, removed: true}]"), 10_171_758),
        (
            (*AWARE_TORUS, "system.faults=[{source: 0, destination: 1, removed: true, at_ns: 5000000}]"),
            10_090_893,
        ),
        ((*AWARE_TORUS, "system.faults=[{source: 0, destination: 1, bandwidth_factor: 0.5}]"), 18_390_687),
    ],
)
def test_faults_and_deratings_end_to_end(
    tmp_path: Path, overrides: tuple[str, ...], wall_time_ns: int
) -> None:
    answer = json.loads(run_ok("point", *overrides, "format=json", cwd=tmp_path).out)
    assert max(entry["metrics"]["wall_time_ns"] for entry in answer["rank_classes"]) == wall_time_ns


def test_errors_of_overrides_are_one_line(tmp_path: Path) -> None:
    message = error_of("point", *AWARE_TORUS, "system.faults=[{source: 0, destination: 9}]", cwd=tmp_path)
    assert "there is no link from device 0 to device 9" in message
    message = error_of("point", *TORUS, "system.deratings=[{npu: 16}]", cwd=tmp_path)
    assert message == "system.deratings.0.npu is 16, but the network has 16 NPUs"
    message = error_of("point", *AWARE_TORUS, "system.faults=[{source: 0, dest: 1}]", cwd=tmp_path)
    assert "dest" in message


def test_a_disconnected_network_is_an_error_of_the_point(tmp_path: Path) -> None:
    pair = (
        "model=tiny",
        "strategy.dp=2",
        "system.network=[{topology: FullyConnected, npus: 2, bandwidth_gbps: 50, latency_ns: 500}]",
        *(f"system.collectives.{kind}=[ring]" for kind in ("all_reduce", "all_gather")),
        *(f"system.collectives.{kind}=[ring]" for kind in ("reduce_scatter", "all_to_all")),
        "system.network_model=congestion_aware",
        "system.faults=[{source: 0, destination: 1, removed: true}]",
    )
    done = run_dse("point", *pair, cwd=tmp_path)
    assert done.code == 2
    assert "the removed links leave no way from NPU 0 to NPU 1" in done.err
