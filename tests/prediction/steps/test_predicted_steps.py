"""Predicted steps as structures: what `predict` says against the engine, and traces with collectives."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agreement import agreement
from benchmarks.step_times import NetworkTimes, step_ns
from benchmarks.timed_steps import timed_network, timed_structure
from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster, TierSpec, accelerator, cluster
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import ModelSpec
from dse.inputs.models.blocks import MixtureOfExperts
from dse.inputs.models.settings import models_of_conf
from dse.inputs.strategies import InfeasibleStrategy
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from dse.prediction.steps.structure import ChunkWork, Collective, Compute, StepStructure
from dse.prediction.steps.structured import (
    exchange_network,
    exchanged_structure,
)
from dse.prediction.steps.traces import trace_workload, traced_system
from dse.simulation.simulators import NativeSimulator

SMALL = ModelSpec("small", 4096, 4096, 1024, 4096, 16, 512, 32, 8, fidelity="realistic")


def nodes_of_four(npus: int) -> Cluster:
    tiers = (TierSpec("inside", 2.0, bandwidth_gbps=450.0), TierSpec("between", 5.0, bandwidth_gbps=50.0))
    return cluster("small", accelerator("h100_sxm"), max(1, npus // 4), min(4, npus), tiers)


def random_plan(rng: random.Random, pp: int) -> Plan:
    schedule = rng.choice(sorted(SCHEDULES))
    tp = rng.choice([1, 2, 4])
    dp, micro_batch, zero = rng.choice([1, 2]), rng.choice([1, 2]), rng.choice([0, 1, 3])
    return Plan(
        dp=dp,
        tp=tp,
        pp=pp,
        micro_batch=micro_batch,
        schedule=schedule,
        chunks=SCHEDULES[schedule].chunks or 2,
        weight_sharded=zero == 3,
        zero=1 if zero == 3 else zero,
        sequence_parallel=tp > 1 and rng.random() < 0.5,
        recompute=rng.choice(["none", "selective", "full"]),
        overlap_dp=rng.random() < 0.5,
        precision=rng.choice(["bf16", "fp8"]),
    )


def test_predicted_steps_take_as_long_node_by_node() -> None:
    """Within the rounding of passes to nanoseconds; the closed form of the rounded ones is exact."""
    rng = random.Random(5)
    drawn: Counter[str] = Counter()
    while min(drawn.values(), default=0) < 4 or len(drawn) < len(SCHEDULES):
        plan = random_plan(rng, rng.choice([2, 4]))
        machine = nodes_of_four(plan.npus)
        try:
            predicted = predict(SMALL, plan, machine)
        except InfeasibleStrategy:
            continue
        one = agreement(timed_structure(SMALL, plan, machine), timed_network(SMALL, plan, machine))
        assert one.broken == ()
        assert one.closed_ns == one.engine_ns
        rounding_ns = 0.0
        if plan.schedule in ("v-half", "v-min"):  # six short passes in turn, and each is rounded
            rounds = SMALL.batch_size // (plan.dp * plan.micro_batch) + plan.pp
            rounding_ns = 3 * plan.chunks * rounds / 2
        assert one.engine_ns == pytest.approx(predicted.step_s * 1e9, rel=2e-6, abs=rounding_ns)
        drawn[plan.schedule] += 1


def test_a_predicted_step_without_stages_is_its_passes_and_what_follows() -> None:
    plan = Plan(dp=2, tp=2, micro_batch=2)
    machine = nodes_of_four(4)
    structure = timed_structure(SMALL, plan, machine)
    assert step_ns(structure, NetworkTimes({}, [0])) == pytest.approx(
        predict(SMALL, plan, machine).step_s * 1e9, rel=1e-6
    )
    with pytest.raises(InputError, match="pp is 1"):
        timed_network(SMALL, plan, machine)


def test_steps_with_collectives_agree_on_the_networks_of_clusters() -> None:
    rng = random.Random(6)
    for pp in (1, 2, 4, 2, 4, 2, 2, 4):
        plan = random_plan(rng, pp)
        machine = nodes_of_four(plan.npus)
        try:
            structure = exchanged_structure(SMALL, plan, machine)
        except InfeasibleStrategy:
            continue
        if plan.npus > 1:
            one = agreement(structure, exchange_network(plan, machine))
            assert one.slot_ns == one.engine_ns


def test_collectives_of_a_layer_and_of_gradients_have_their_bytes() -> None:
    """Micro-batches of 2 x 512 tokens of 1024 features in 16 bit; 4 layers a stage, 2 collectives each."""
    structure = exchanged_structure(SMALL, Plan(dp=2, tp=2, pp=2, micro_batch=2), nodes_of_four(8))
    first = structure.stages[0][0]
    sums = [part for part in first.forward if isinstance(part, Collective)]
    assert sums == [Collective("tp", "all_reduce", 2 * 512 * 1024 * 2)] * (2 * 4)
    assert structure.message_bytes == 2 * 512 * 1024 * 2 // 2
    (gradients,) = first.gradients
    assert (gradients.axis, gradients.kind) == ("dp", "reduce_scatter")
    gathered = structure.after[0][1]
    assert isinstance(gathered, Collective)
    assert (gathered.axis, gathered.kind) == ("dp", "all_gather")
    # Gradients in 32 bit before the reduction, half of the weights in 16 bit before they are gathered.
    assert gradients.bytes == pytest.approx(gathered.bytes * 2 * 2, rel=1e-6)


def test_gradients_of_experts_are_reduced_over_those_that_have_the_same() -> None:
    experts = MixtureOfExperts(count=4, top_k=2, d_ff=1024)
    mixture = ModelSpec(
        "mixture", 4096, 4096, 1024, 4096, 16, 512, 32, 8, fidelity="realistic", experts=experts
    )
    plan = Plan(dp=4, tp=2, ep=2)
    structure = exchanged_structure(mixture, plan, nodes_of_four(8))
    assert structure.axes == (("tp", 2), ("cp", 1), ("ep", 2), ("dp", 2))
    assert [part.axis for part in structure.stages[0][0].gradients] == ["ep-dp", "dp"]
    one = agreement(structure, exchange_network(plan, nodes_of_four(8)))
    assert abs(one.difference) <= 0.01


def test_a_predicted_step_is_written_for_every_rank(tmp_path: Path) -> None:
    plan = Plan(dp=2, tp=2, pp=2, micro_batch=2)
    structure = exchanged_structure(SMALL, plan, nodes_of_four(8))
    workload = trace_workload(structure)
    paths = workload.export(tmp_path)
    assert len(paths) == 8 + 1
    system = traced_system(exchange_network(plan, nodes_of_four(8)))
    outcome = NativeSimulator().simulate(workload, system)
    assert outcome.status == "ok"
    counts = workload.counts(0)
    assert counts.send == counts.recv == 8
    assert counts.coll == 8 * (2 * 4 + 2 * 4) + 2


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan(tp=2, pp=2, dp=2, order="pp-tp-cp-ep-dp"), "write pp last"),
        (Plan(tp=2, dp=2, pp=2, ep=4), "use an ep that divides dp"),
    ],
)
def test_what_traces_cannot_place_is_refused(plan: Plan, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        exchanged_structure(SMALL, plan, nodes_of_four(8))


def test_a_collective_of_a_trace_is_no_faster_than_its_links() -> None:
    """Ring: 3/4 of 64 MiB at 4 NPUs' 450 GB/s, and three messages of twice 1 us."""
    machine = cluster_of_conf("dgx_h100", 2)
    system = traced_system(exchange_network(Plan(dp=4, tp=4), machine))
    chunk = ChunkWork((Collective("tp", "all_gather", 2**24),), (Compute(1),), 1)
    one = StepStructure("1f1b", ((chunk,),), 1, axes=(("tp", 4), ("dp", 4)))
    outcome = NativeSimulator().simulate(trace_workload(one), system)
    least_ns = 0.75 * 2**26 / 450
    assert least_ns < max(found.finish_ns for found in outcome.classes if found) < least_ns + 10_000


def test_ranks_of_a_collective_that_share_a_node_leave_it_by_all_their_links() -> None:
    """NICs of 50 GB/s: eight of a node for dp 16, two for dp 4 with tp 4, one for dp 2 with tp 8."""
    machine = cluster_of_conf("dgx_h100", 2)
    for plan, gbps in ((Plan(dp=16), 400), (Plan(dp=4, tp=4), 100), (Plan(dp=2, tp=8), 50)):
        (*_, outer) = exchange_network(plan, machine).network
        assert outer.bandwidth_gbps * 2**30 / 1e9 == pytest.approx(gbps)


@pytest.mark.parametrize(
    ("values", "backward"),
    [
        ({}, ["all_reduce"] * 8),
        ({"recompute": "full"}, ["all_reduce"] * 16),
        ({"recompute": "full", "recompute_layers": 2}, ["all_reduce"] * 12),
        ({"sequence_parallel": True}, ["reduce_scatter", "all_gather", "all_gather"] * 8),
        (
            {"sequence_parallel": True, "recompute": "full"},
            ["reduce_scatter", "all_gather"] * 8 + ["reduce_scatter", "all_gather", "all_gather"] * 8,
        ),
    ],
)
def test_passes_have_the_collectives_that_they_repeat(values: dict[str, Any], backward: list[str]) -> None:
    plan = Plan(dp=2, tp=2, pp=2, micro_batch=2, **values)
    first = exchanged_structure(SMALL, plan, nodes_of_four(8)).stages[0][0]
    assert [part.kind for part in first.backward if isinstance(part, Collective)] == backward


@pytest.mark.parametrize(
    "values",
    [
        {"dp": 4, "tp": 4},
        {"dp": 4, "tp": 4, "sequence_parallel": True},
        {"dp": 2, "tp": 8, "sequence_parallel": True, "recompute": "full"},
        {"dp": 2, "tp": 4, "pp": 2, "sequence_parallel": True},
        {"dp": 16},
    ],
)
def test_traces_take_the_predicted_step_within_a_twentieth(values: dict[str, Any]) -> None:
    """The rest is launches and protocols of collectives, and gradients that wait for the last micro-batch."""
    model = replace(dict(models_of_conf())["llama3_8b"], batch_size=64, micro_batches=None)
    machine = cluster_of_conf("dgx_h100", 2)
    plan = Plan(**values)
    system = traced_system(exchange_network(plan, machine))
    outcome = NativeSimulator().simulate(trace_workload(exchanged_structure(model, plan, machine)), system)
    simulated_s = max(found.finish_ns for found in outcome.classes if found) / 1e9
    assert simulated_s == pytest.approx(predict(model, plan, machine).step_s, rel=0.05)
