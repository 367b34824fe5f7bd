"""What every simulator must do; another implementation is one more line in SIMULATORS.

ASTRA-sim is there as a stand-in of ours, and for real where the environment names one (tests/outside.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    RING16,
    TINY,
    coll,
    comp,
    recv,
    send,
    system,
    workload,
)
from outside import astrasim_program, real_astrasim

from dse.errors import InputError, SimulationError
from dse.models import ModelSpec
from dse.simulators import AstraSimSimulator, NativeSimulator, Outcome, RankMetrics, Simulator
from dse.strategies import Strategy
from dse.systems import SystemSpec
from dse.workloads import Workload, generate

SIMULATORS: dict[str, Callable[[Path], Simulator]] = {
    "native, auto": lambda _: NativeSimulator("auto"),
    "native, general": lambda _: NativeSimulator("general"),
    "astrasim, stand-in": lambda folder: AstraSimSimulator(astrasim_program(folder), 60, folder / "logs"),
    "astrasim, real": lambda folder: real_astrasim(folder / "logs"),
}
# Those that answer with an error where ASTRA-sim itself hangs, loops for ever or crashes.
STRICT = [name for name in SIMULATORS if name != "astrasim, real"]
# Those that say why ranks hang; ASTRA-sim does not.
EXPLAINING = [name for name in SIMULATORS if name.startswith("native")]


@pytest.fixture(params=SIMULATORS)
def simulator(request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
    return SIMULATORS[request.param](tmp_path)


@pytest.fixture(params=STRICT)
def strict_simulator(request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
    return SIMULATORS[request.param](tmp_path)


@pytest.fixture(params=EXPLAINING)
def explaining_simulator(request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
    return SIMULATORS[request.param](tmp_path)


def _ranks(outcome: Outcome) -> list[RankMetrics | None]:
    return [outcome.rank(rank) for rank in range(outcome.rank_count)]


POINTS = [
    Strategy(dp=16),
    Strategy(dp=2, tp=2, sp=2, pp=2, activation_recompute=True),
    Strategy(dp=4, tp=4),  # a deadlock
    Strategy(tp=4, pp=4),
]


def test_all_figures_of_a_recorded_point(simulator: Simulator) -> None:
    # tiny4_dp16_tp1_sp1_pp1_ar0_ws0__ring16__unaware of the reference
    outcome = simulator.simulate(generate(TINY, Strategy(dp=16)), RING16)
    assert outcome.status == "ok"
    assert outcome.rank_count == 16
    assert outcome.blocked == ()
    assert outcome.reason == ""
    first = outcome.rank(0)
    assert first is not None
    assert all(metrics == first for metrics in _ranks(outcome))
    figures = {
        key: round(value, 3) if isinstance(value, float) else value
        for key, value in dataclasses.asdict(first).items()
    }
    assert figures == {
        "finish_ns": 1_792_330,
        "wall_time_ns": 1_792_330,
        "exposed_comm_ns": 1_201_238,
        "gpu_time_ns": 591_092,
        "cpu_time_ns": 0,
        "comm_time_ns": 1_609_500,
        "remote_memory_time_ns": 0,
        "compute_bound_pct": 0.0,
        "compute_utilization_pct": 33.939,
        "memory_utilization_pct": 100.0,
        "operation_intensity": 190.91,
        "peak_memory_bytes": 147_849_216,
    }


def test_figures_differ_between_the_ranks_of_a_recorded_pipeline(simulator: Simulator) -> None:
    # tiny4_dp1_tp4_sp1_pp4_ar1_ws0__ring16__unaware of the reference
    work = generate(TINY, Strategy(tp=4, pp=4, activation_recompute=True))
    ranks = [metrics for metrics in _ranks(simulator.simulate(work, RING16)) if metrics is not None]
    # fmt: off
    assert [metrics.wall_time_ns for metrics in ranks] == [
        8932929, 8931929, 8931929, 8931929, 8840525, 8839525, 8839525, 8839525,
        7727102, 7727102, 7727102, 7727102, 6614679, 6614679, 6614679, 6613679,
    ]
    # fmt: on
    peaks = [88_080_384] * 4 + [67_108_864] * 4 + [66_060_288] * 8
    assert [metrics.peak_memory_bytes for metrics in ranks] == peaks


def test_memory_that_is_not_tracked_is_none(simulator: Simulator) -> None:
    outcome = simulator.simulate(workload([comp(1)], [comp(1)]), system(track_local_memory=False))
    assert [metrics.peak_memory_bytes for metrics in outcome.classes if metrics] == [None] * len(
        outcome.classes
    )


def test_the_same_input_gives_the_same_outcome(simulator: Simulator) -> None:
    for strategy in POINTS:
        work = generate(TINY, strategy)
        assert simulator.simulate(work, RING16) == simulator.simulate(work, RING16)


def test_a_run_leaves_no_trace_in_the_workload_or_the_simulator(simulator: Simulator) -> None:
    work = generate(TINY, Strategy(dp=4, tp=2, sp=2))
    before = simulator.simulate(work, RING16)
    other = simulator.simulate(work, system("Switch 16 @200/10", track_local_memory=True))
    assert _ranks(other) != _ranks(before)
    assert simulator.simulate(work, RING16) == before


def test_four_threads_with_one_simulator_get_what_one_thread_gets(simulator: Simulator) -> None:
    works = [generate(TINY, strategy) for strategy in POINTS]
    alone = [simulator.simulate(work, RING16) for work in works]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda work: simulator.simulate(work, RING16), works * 4))
        same_point = list(pool.map(lambda _: simulator.simulate(works[1], RING16), range(4)))
    assert together == alone * 4
    assert same_point == [alone[1]] * 4


def test_classes_are_in_the_order_of_their_lowest_ranks(simulator: Simulator) -> None:
    work = generate(TINY, Strategy(dp=2, tp=2, sp=2, pp=2))
    outcome = simulator.simulate(work, RING16)
    first_seen = list(dict.fromkeys(outcome.class_of_rank))
    assert first_seen == list(range(len(outcome.classes)))
    assert len(outcome.classes) > 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_network_with_other_npus_than_the_workload_is_an_input_error(
    simulator: Simulator, ranks: int
) -> None:
    with pytest.raises(InputError, match=rf"{ranks} ranks.* 2 NPUs"):
        simulator.simulate(workload(*[[comp(1)]] * ranks), system())


@pytest.mark.parametrize(
    ("kind", "size", "on"),
    [
        (ALL_TO_ALL, 1000, system("Switch 2 @100/50", "halvingDoubling")),
        (ALL_GATHER, 9, system(preferred_dataset_splits=10)),
        (ALL_REDUCE, 1000, system(endpoint_delay_ns=0)),
    ],
    ids=["no algorithm", "nothing in a chunk", "time 0"],
)
def test_what_no_simulator_can_run_is_a_simulation_error(
    strict_simulator: Simulator, kind: int, size: int, on: SystemSpec
) -> None:
    with pytest.raises(SimulationError):
        strict_simulator.simulate(workload(*[[coll(1, kind, size)]] * 2), on)


def _half_blocked() -> Workload:
    """Rank 0 sends once and computes; rank 1 receives that message and then one that nobody sends."""
    return workload(
        [send(1, to=1, size=100), comp(2, ops=10**9, size=10**8)],
        [recv(1, source=0, size=100), recv(2, source=0, size=100, tag=5, after=[1]), comp(3, after=[2])],
    )


def test_a_deadlock_keeps_the_finished_ranks(simulator: Simulator) -> None:
    outcome = simulator.simulate(_half_blocked(), system())
    assert outcome.status == "deadlock"
    finished, hanging = _ranks(outcome)
    assert finished is not None
    assert finished.finish_ns == 33333
    assert hanging is None
    assert outcome.reason.startswith("1 of 2 ranks never finish; ")


def test_a_deadlock_names_node_peer_and_cause(explaining_simulator: Simulator) -> None:
    outcome = explaining_simulator.simulate(_half_blocked(), system())
    (blocked,) = outcome.blocked
    assert (blocked.rank, blocked.node_id, blocked.name, blocked.kind) == (1, 2, "node2", "receive")
    assert blocked.peers == (0,)
    assert "never sent" in blocked.cause
    assert outcome.reason.startswith(
        "1 of 2 ranks never finish; rank 1: receive node 2 node2 (waits for rank 0)"
    )


def test_a_deadlock_names_the_group_of_a_collective(explaining_simulator: Simulator) -> None:
    work = workload(
        *([coll(1, ALL_REDUCE, 400, group="left")], [comp(1)], [comp(1)], [comp(1)]),
        groups={"left": [0, 1]},
    )
    outcome = explaining_simulator.simulate(work, system("Ring 4 @100/50"))
    assert [metrics is None for metrics in _ranks(outcome)] == [True, False, False, False]
    (blocked,) = outcome.blocked
    assert (blocked.rank, blocked.kind, blocked.communicator, blocked.peers) == (
        0,
        "all-reduce",
        "left",
        (1,),
    )


NARROW = ModelSpec("narrow", 20, 5, 1, 17, 19, 25, 43, 3)  # d_model 1: with tp 2, whole pipelines hang


@pytest.mark.parametrize(
    ("model", "strategy", "on"),
    [
        (TINY, Strategy(dp=4, tp=4), RING16),
        (
            NARROW,
            Strategy(tp=2, pp=3),
            system("Switch 6 @100/50", peak_tflops=0.01, memory_bandwidth_gbps=50),
        ),
    ],
    ids=["ring16", "pipeline"],
)
def test_a_deadlock_names_a_node_of_every_class_of_hanging_ranks(
    explaining_simulator: Simulator, model: ModelSpec, strategy: Strategy, on: SystemSpec
) -> None:
    outcome = explaining_simulator.simulate(generate(model, strategy), on)
    assert outcome.status == "deadlock"
    hanging = {number for number, metrics in enumerate(outcome.classes) if metrics is None}
    assert hanging
    assert {outcome.class_of_rank[node.rank] for node in outcome.blocked} == hanging
    assert f" of {on.npus} ranks never finish; rank " in outcome.reason
