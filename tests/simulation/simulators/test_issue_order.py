"""The order in which ranks issue communication: `reference` may deadlock, `safe` never does."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from command_lines import error_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_points import Point, compare, random_point, seeded_points

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Derating, SystemSpec, write_system
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.studies.points import evaluate, point_of
from dse.testing.builders import ALL_REDUCE, RING16, TINY, coll, comp, recv, send, system, workload

SMALL = ModelSpec("small", 32, 32, 16, 32, 2, 8, 8, 2)
ORDERS = ("reference", "safe")
TORUS = compose_config(["system=torus_4x4", "model=tiny"])
STRATEGIES = TORUS.space.strategies(TORUS.model, TORUS.system)


def _wall_time_ns(strategy: Strategy, on: SystemSpec, order: str, model: ModelSpec = TINY) -> int | None:
    """None for a deadlock."""
    outcome = NativeSimulator().simulate(generate(model, strategy), replace(on, issue_order=order))
    if outcome.status == "deadlock":
        return None
    return max(metrics.wall_time_ns for metrics in outcome.classes if metrics is not None)


# ---- what it is for ----


def test_one_slow_npu_stops_21_of_30_strategies_in_the_reference_order_and_none_in_the_safe_one() -> None:
    slow = replace(TORUS.system, deratings=(Derating(3, 0.9),))
    times = {order: [_wall_time_ns(strategy, slow, order) for strategy in STRATEGIES] for order in ORDERS}
    assert len(STRATEGIES) == 30
    assert times["reference"].count(None) == 21
    assert times["safe"].count(None) == 0
    # 10 % on one NPU cost each strategy something, and at most 10 %
    sound = [_wall_time_ns(strategy, TORUS.system, "safe") for strategy in STRATEGIES]
    for before, after in zip(sound, times["safe"], strict=True):
        assert before is not None
        assert after is not None
        assert before < after <= 1.12 * before


def test_on_the_sound_system_no_time_changes() -> None:
    for strategy in STRATEGIES:
        assert _wall_time_ns(strategy, TORUS.system, "safe") == _wall_time_ns(
            strategy, TORUS.system, "reference"
        )


@pytest.mark.parametrize(
    ("strategy", "reference_ns", "safe_ns"),
    [
        (Strategy(dp=4, tp=4), None, 2_911_588),
        (Strategy(dp=4, pp=4), 2_684_584, 2_684_584),
        (Strategy(dp=8, tp=2), 2_325_713, 2_325_713),
        (Strategy(dp=4, tp=4, weight_sharded=True), 3_230_149, 3_230_149),
    ],
)
def test_groups_at_unequal_distances_may_stop_the_reference_order_on_a_sound_system(
    strategy: Strategy, reference_ns: int | None, safe_ns: int
) -> None:
    assert _wall_time_ns(strategy, RING16, "reference") == reference_ns
    assert _wall_time_ns(strategy, RING16, "safe") == safe_ns


def test_chunks_of_one_collective_do_not_overtake_each_other_in_the_safe_order() -> None:
    """One group, so one order of collectives; but chunks come back to a dimension's queue from two others."""
    on = system(
        ",".join(["Switch 2 @1/10"] * 3),
        peak_tflops=0.01,
        memory_bandwidth_gbps=1,
        preferred_dataset_splits=4,
        deratings=(Derating(0, 0.1),),
    )
    result = Point(SMALL, Strategy(sp=8), on).simulate(_engine.Method.GENERAL)
    assert isinstance(result, _engine.SimulationResult)
    assert {node.name for node in result.blocked if node.peers} == {"out_emb_w@1_X2_COMM"}
    assert _wall_time_ns(Strategy(sp=8), on, "safe", SMALL) == 156_040


# ---- it cannot deadlock, and the shortcut stays exact ----

_INHERENT = ("0/0 and it never ends", "no phase to run", "beyond the clock")


def _power_of_two(collectives: CollectiveAlgorithms, npus: int) -> CollectiveAlgorithms:
    """Without halving-doubling over other numbers of NPUs, where ranks wait for ever in any order."""
    if npus & (npus - 1) == 0:
        return collectives
    lists = vars(collectives).items()
    return CollectiveAlgorithms(
        **{key: tuple("ring" if "alving" in name else name for name in names) for key, names in lists}
    )


def slow_point(rng: random.Random) -> Point:
    """A random point, mostly with slow NPUs, often realistic with micro-batches, in the safe order."""
    point = random_point(rng)
    on = replace(
        point.system,
        issue_order="safe",
        collectives=_power_of_two(point.system.collectives, point.system.npus),
        network_model="congestion_aware" if rng.random() < 0.15 else "congestion_unaware",
        rendezvous_protocol=rng.random() < 0.1,
        queues_per_dimension=rng.choice([1, 1, 1, 2]),
    )
    if rng.random() < 0.6:
        slow = rng.sample(range(on.npus), min(on.npus, rng.choice([1, 1, 2, 4])))
        factors = [(rng.choice([0.3, 0.5, 0.9, 1.5]), rng.choice([0.5, 1.0])) for _ in slow]
        on = replace(on, deratings=tuple(Derating(npu, *of) for npu, of in zip(slow, factors, strict=True)))
    model = point.model
    if rng.random() < 0.5:
        batch = 4 * point.strategy.dp
        model = replace(model, fidelity="realistic", batch_size=batch, micro_batches=rng.choice([1, 2, 4]))
    return Point(model, point.strategy, on)


def _check(point: Point) -> tuple[bool, bool]:
    """Whether the point took the shortcut, and whether the reference order deadlocks."""
    result = compare(point)
    assert result.differences == [], point
    if result.deadlock:
        blocked = point.simulate(_engine.Method.GENERAL)
        assert isinstance(blocked, _engine.SimulationResult)
        causes = {node.cause for node in blocked.blocked}
        assert any(inherent in cause for cause in causes for inherent in _INHERENT), (point, causes)
    if result.error:
        return False, False
    reference = replace(point, system=replace(point.system, issue_order="reference"))
    other = reference.simulate(_engine.Method.AUTO)
    return result.by_classes, isinstance(
        other, _engine.SimulationResult
    ) and other.deadlock and not result.deadlock


@pytest.mark.parametrize("seed", [1, 2])
def test_random_points_never_deadlock_and_are_the_same_by_classes_and_by_ranks(seed: int) -> None:
    found = [_check(point) for point in seeded_points(seed, 60, slow_point)]
    assert sum(by_classes for by_classes, _ in found) > 1
    assert sum(saved for _, saved in found) > 4


@settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.randoms(use_true_random=False))
def test_drawn_points_never_deadlock(rng: random.Random) -> None:
    _check(slow_point(rng))


def test_where_ranks_are_in_step_the_safe_order_is_that_of_the_reference() -> None:
    """Zero-byte computations aside, after which the reference waits for another completion."""
    equal = 0
    for point in seeded_points(3, 100):
        reference = point.simulate(_engine.Method.AUTO)
        if isinstance(reference, str) or not reference.by_classes or reference.deadlock:
            continue
        if generate(point.model, point.strategy).is_fractional:
            continue
        if len(reference.classes) > point.workload().trace_count:
            continue
        safe = replace(point, system=replace(point.system, issue_order="safe"))
        by_rank = safe.simulate(_engine.Method.GENERAL)
        assert isinstance(by_rank, _engine.SimulationResult)
        assert [ranks.finish_ns for ranks in by_rank.classes] == [
            ranks.finish_ns for ranks in reference.classes
        ]
        equal += 1
    assert equal > 20


# ---- which order holds ----


def _status(*overrides: str) -> str:
    slow = "system.deratings=[{npu: 3, compute_factor: 0.5}]"
    config = compose_config(["system=torus_4x4", "model=tiny", slow, *overrides])
    return evaluate(point_of(config, Strategy(dp=16))).status


def test_the_fidelity_of_the_model_chooses_unless_the_system_does() -> None:
    assert _status() == "deadlock"
    assert _status("system.issue_order=safe") == "ok"
    assert _status("model.fidelity=realistic") == "ok"
    assert _status("model.fidelity=realistic", "system.issue_order=reference") == "deadlock"
    assert _status("model.repairs.output_projection=true") == "deadlock"


def test_ranks_without_collectives_are_not_ordered() -> None:
    """Sends end on their own, so the lowest id goes first, as in the reference order."""
    ranks = (
        [comp(1), send(2, to=1, size=1000, tag=2, after=[1]), send(3, to=1, size=1000, tag=3)],
        [recv(1, source=0, size=1000, tag=2), recv(2, source=0, size=1000, tag=3)],
    )
    outcomes = [NativeSimulator().simulate(workload(*ranks), system(issue_order=order)) for order in ORDERS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].status == "ok"


# ---- what is refused ----


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        compose_config(["system.issue_order=saf"])
    assert (
        str(caught.value) == "system.issue_order is 'saf'; allowed are reference, safe; did you mean 'safe'?"
    )


def test_groups_whose_ranks_run_several_traces_are_refused() -> None:
    ranks = [[comp(1, ops=ops), coll(2, ALL_REDUCE, 1000, after=[1])] for ops in (10_000, 20_000)]
    with pytest.raises(InputError, match=r"needs the ranks of a communicator group to run the same trace"):
        NativeSimulator().simulate(workload(*ranks), system(issue_order="safe"))
    NativeSimulator().simulate(workload(*ranks), system(issue_order="reference"))


def test_astra_sim_knows_no_other_order_than_its_own(tmp_path: Path) -> None:
    message = "system.issue_order is 'safe', but ASTRA-sim's files have no place for it"
    with pytest.raises(InputError, match=message):
        write_system(replace(RING16, issue_order="safe"), tmp_path)
    write_system(replace(RING16, issue_order="reference"), tmp_path)
    point = ("system=torus_4x4", "model=tiny", "strategy.dp=16", "export=out")
    assert message in error_of("point", *point, "system.issue_order=safe", cwd=tmp_path)
