"""The contract of every simulator, and the promises of simulators that compute ASTRA-sim's figures."""

from __future__ import annotations

import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from dse.base.errors import InputError, SimulationError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import Outcome, RankMetrics, Simulator
from dse.simulation.workloads import Workload, generate
from dse.testing.builders import (
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

POINTS = [
    Strategy(dp=16),
    Strategy(dp=2, tp=2, sp=2, pp=2, activation_recompute=True),
    Strategy(dp=4, tp=4),  # a deadlock
    Strategy(tp=4, pp=4),
]


def _ranks(outcome: Outcome) -> list[RankMetrics | None]:
    return [outcome.rank(rank) for rank in range(outcome.rank_count)]


def _half_blocked() -> Workload:
    """Rank 0 sends once and computes; rank 1 receives that message and then one that no rank sends."""
    return workload(
        [send(1, to=1, size=100), comp(2, ops=10**9, size=10**8)],
        [recv(1, source=0, size=100), recv(2, source=0, size=100, tag=5, after=[1]), comp(3, after=[2])],
    )


NARROW = ModelSpec("narrow", 20, 5, 1, 17, 19, 25, 43, 3)  # d_model 1: with tp 2, whole pipelines hang


class _Simulators:
    def make(self) -> Simulator:
        raise NotImplementedError("make returns the simulator")

    @pytest.fixture
    def simulator(self) -> Simulator:
        return self.make()


class SimulatorContract(_Simulators):
    """Inherit it, and return the simulator from `make`, or give a fixture `simulator` of your own."""

    def test_memory_that_is_not_tracked_is_none(self, simulator: Simulator) -> None:
        outcome = simulator.simulate(workload([comp(1)], [comp(1)]), system(track_local_memory=False))
        assert [metrics.peak_memory_bytes for metrics in outcome.classes if metrics] == [None] * len(
            outcome.classes
        )

    def test_the_same_input_gives_the_same_outcome(self, simulator: Simulator) -> None:
        for strategy in POINTS:
            work = generate(TINY, strategy)
            assert simulator.simulate(work, RING16) == simulator.simulate(work, RING16)

    def test_a_run_leaves_no_trace_in_the_workload_or_the_simulator(self, simulator: Simulator) -> None:
        work = generate(TINY, Strategy(dp=4, tp=2, sp=2))
        before = simulator.simulate(work, RING16)
        other = simulator.simulate(work, system("Switch 16 @200/10", track_local_memory=True))
        assert _ranks(other) != _ranks(before)
        assert simulator.simulate(work, RING16) == before

    def test_four_threads_with_one_simulator_get_what_one_thread_gets(self, simulator: Simulator) -> None:
        works = [generate(TINY, strategy) for strategy in POINTS]
        alone = [simulator.simulate(work, RING16) for work in works]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda work: simulator.simulate(work, RING16), works * 4))
            same_point = list(pool.map(lambda _: simulator.simulate(works[1], RING16), range(4)))
        assert together == alone * 4
        assert same_point == [alone[1]] * 4

    def test_classes_are_in_the_order_of_their_lowest_ranks(self, simulator: Simulator) -> None:
        work = generate(TINY, Strategy(dp=2, tp=2, sp=2, pp=2))
        outcome = simulator.simulate(work, RING16)
        first_seen = list(dict.fromkeys(outcome.class_of_rank))
        assert first_seen == list(range(len(outcome.classes)))

    @pytest.mark.parametrize("ranks", [1, 3])
    def test_a_network_with_other_npus_than_the_workload_is_an_input_error(
        self, simulator: Simulator, ranks: int
    ) -> None:
        with pytest.raises(InputError, match=rf"\b{ranks}\b.*\b2\b"):
            simulator.simulate(workload(*[[comp(1)]] * ranks), system())

    def test_another_process_has_the_same_simulator(self, simulator: Simulator) -> None:
        there = pickle.loads(pickle.dumps(simulator))
        assert dict(there.identity()) == dict(simulator.identity())
        work = generate(TINY, Strategy(dp=16))
        assert there.simulate(work, RING16) == simulator.simulate(work, RING16)

    def test_its_identity_is_of_texts_and_names_it(self, simulator: Simulator) -> None:
        identity = simulator.identity()
        assert identity["name"]
        assert all(isinstance(text, str) for pair in identity.items() for text in pair)


class ReferenceFigures(_Simulators):
    """For simulators that compute what ASTRA-sim computes, to the nanosecond."""

    def test_all_figures_of_a_recorded_point(self, simulator: Simulator) -> None:
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

    def test_figures_differ_between_the_ranks_of_a_recorded_pipeline(self, simulator: Simulator) -> None:
        # tiny4_dp1_tp4_sp1_pp4_ar1_ws0__ring16__unaware of the reference
        work = generate(TINY, Strategy(tp=4, pp=4, activation_recompute=True))
        outcome = simulator.simulate(work, RING16)
        ranks = [metrics for metrics in _ranks(outcome) if metrics is not None]
        assert len(outcome.classes) > 1
        # fmt: off
        assert [metrics.wall_time_ns for metrics in ranks] == [
            8932929, 8931929, 8931929, 8931929, 8840525, 8839525, 8839525, 8839525,
            7727102, 7727102, 7727102, 7727102, 6614679, 6614679, 6614679, 6613679,
        ]
        # fmt: on
        peaks = [88_080_384] * 4 + [67_108_864] * 4 + [66_060_288] * 8
        assert [metrics.peak_memory_bytes for metrics in ranks] == peaks

    def test_a_deadlock_keeps_the_finished_ranks(self, simulator: Simulator) -> None:
        outcome = simulator.simulate(_half_blocked(), system())
        assert outcome.status == "deadlock"
        finished, hanging = _ranks(outcome)
        assert finished is not None
        assert finished.finish_ns == 33333
        assert hanging is None
        assert outcome.reason.startswith("1 of 2 ranks never finish; ")


class RefusesTheImpossible(_Simulators):
    """For simulators that answer with an error where ASTRA-sim itself hangs, loops for ever or crashes."""

    @pytest.mark.parametrize(
        ("kind", "size", "spec"),
        [
            (ALL_TO_ALL, 1000, system("Switch 2 @100/50", "halvingDoubling")),
            (ALL_GATHER, 9, system(preferred_dataset_splits=10)),
            (ALL_REDUCE, 1000, system(endpoint_delay_ns=0)),
        ],
        ids=["no algorithm", "nothing in a chunk", "time 0"],
    )
    def test_what_no_simulator_can_run_is_a_simulation_error(
        self, simulator: Simulator, kind: int, size: int, spec: SystemSpec
    ) -> None:
        with pytest.raises(SimulationError):
            simulator.simulate(workload(*[[coll(1, kind, size)]] * 2), spec)


class ExplainsDeadlocks(_Simulators):
    """For simulators that say why ranks hang."""

    def test_a_deadlock_names_node_peer_and_cause(self, simulator: Simulator) -> None:
        outcome = simulator.simulate(_half_blocked(), system())
        (blocked,) = outcome.blocked
        assert (blocked.rank, blocked.node_id, blocked.name, blocked.kind) == (1, 2, "node2", "receive")
        assert blocked.peers == (0,)
        assert "never sent" in blocked.cause
        assert outcome.reason.startswith(
            "1 of 2 ranks never finish; rank 1: receive node 2 node2 (waits for rank 0)"
        )

    def test_a_deadlock_names_the_group_of_a_collective(self, simulator: Simulator) -> None:
        work = workload(
            *([coll(1, ALL_REDUCE, 400, group="left")], [comp(1)], [comp(1)], [comp(1)]),
            groups={"left": [0, 1]},
        )
        outcome = simulator.simulate(work, system("Ring 4 @100/50"))
        assert [metrics is None for metrics in _ranks(outcome)] == [True, False, False, False]
        (blocked,) = outcome.blocked
        assert (blocked.rank, blocked.kind, blocked.communicator, blocked.peers) == (
            0,
            "all-reduce",
            "left",
            (1,),
        )

    @pytest.mark.parametrize(
        ("model", "strategy", "spec"),
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
        self, simulator: Simulator, model: ModelSpec, strategy: Strategy, spec: SystemSpec
    ) -> None:
        outcome = simulator.simulate(generate(model, strategy), spec)
        assert outcome.status == "deadlock"
        hanging = {number for number, metrics in enumerate(outcome.classes) if metrics is None}
        assert hanging
        assert {outcome.class_of_rank[node.rank] for node in outcome.blocked} == hanging
        assert f" of {spec.npus} ranks never finish; rank " in outcome.reason
