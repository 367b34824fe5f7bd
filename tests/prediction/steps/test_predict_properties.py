"""Properties of predictions: parts, times of collectives, effects that must have their direction."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dse.inputs.accelerators import Accelerator, Cluster, Efficiency, Tier
from dse.inputs.models import MixtureOfExperts, ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import PARTS, predict
from tests.references.prediction.collectives import FIXED_S, Links
from tests.references.prediction.kernels import Kernel, Pass
from tests.references.prediction.placement import placement
from tests.references.prediction.timing import Rates, kernels_s

CHIP = Accelerator(
    "chip", {"bf16": 100.0, "fp8": 200.0}, 80 * 10**9, 1000.0, Efficiency(0.5, 0.4, 0.4, 0.5, 1.0, 5.0)
)
MODEL = ModelSpec(
    "small", 32000, 32000, 2048, 8192, 16, 1024, 64, 16, num_kv_heads=8, gated_mlp=True, fidelity="realistic"
)


def cluster(npus: int, network_gbps: float = 25.0, chip: Accelerator = CHIP) -> Cluster:
    """Nodes of 8 behind a switch."""
    tiers = [Tier("nvlink", min(8, npus), 300.0, 2.0)]
    if npus > 8:
        tiers.append(Tier("network", npus, network_gbps, 5.0))
    return Cluster("cluster", chip, tuple(tiers))


def links(size: int, **degrees: int) -> Links:
    """Links of the data-parallel groups of some degrees."""
    whole = {"tp": 1, "dp": size, **degrees}
    return Links.of(placement("tp-cp-ep-dp-pp", whole)["dp"], cluster(math.prod(whole.values())))


def test_a_ring_moves_twice_p_minus_1_over_p_of_the_bytes() -> None:
    """8 NPUs at 300 GB/s: 2 x 7/8 x 3 GB / 300 GB/s, and the shorter latency: 6 hops of a tree, not 14."""
    large = links(8).all_reduce_s(3e9)
    assert large == pytest.approx(0.0175 + 14 * 2e-6 + FIXED_S, rel=1e-12)
    small = links(8).all_reduce_s(1e3)
    assert small == pytest.approx(2e3 / 300e9 + 6 * 2e-6 + FIXED_S, rel=1e-12)


def test_groups_that_share_nics_divide_them() -> None:
    """Whole nodes have 8 NICs of 25 GB/s, at 0.92; with tp 8 inside, each of 8 groups has one."""
    assert links(16).bandwidth == pytest.approx(0.92 * 200e9)
    assert links(2, tp=8).bandwidth == pytest.approx(0.92 * 25e9)
    assert links(4, tp=4).bandwidth == pytest.approx(0.92 * 50e9)


def test_a_kernel_takes_its_operations_or_its_bytes_and_a_launch() -> None:
    """50 TFLOPS and 500 GB/s are reached; a product of 4096^3 loses 3 x 96 / 4096."""
    rates = Rates.of(CHIP, launch_us=1.0, attention_factor=1.0)
    kernels = Pass()
    kernels.product(4096, 4096, 4096, bits=16)
    found = kernels_s(kernels.forward, rates)
    assert found["matrix_products"] == pytest.approx(2 * 4096**3 / 50e12 * (1 + 288 / 4096))
    moved = kernels_s([Kernel("memory", 2, 0, 5e8)], rates)
    assert moved == {"memory_bound": pytest.approx(2e-3), "launches": pytest.approx(10e-6)}


def test_a_pass_of_small_kernels_takes_what_the_cpu_needs_to_launch_them() -> None:
    """12 kernels at 70 us each."""
    rates = Rates.of(CHIP, launch_us=70.0, attention_factor=1.0)
    assert kernels_s([Kernel("memory", 12, 0, 1.0)], rates).total_s == pytest.approx(840e-6)


def test_large_kernels_do_not_hide_launches_that_come_before_them() -> None:
    """70 us : 3 kernels of 5 us, one of 1 ms; in the other order its time hides their launches."""
    rates = Rates.of(CHIP, launch_us=70.0, attention_factor=1.0)
    small, large = Kernel("memory", 3, 0, 0.0), Kernel("memory", 1, 0, 5e8)
    assert kernels_s([small, large], rates).total_s == pytest.approx(210e-6 + 1005e-6)
    assert kernels_s([large, small], rates).total_s == pytest.approx(1005e-6 + 15e-6)


def test_collectives_pass_while_kernels_after_them_are_launched() -> None:
    """A meeting of 100 us and a launch; 3 kernels of 5 us after it wait for launches of 70 us, not for it."""
    rates = Rates.of(CHIP, launch_us=70.0, attention_factor=1.0)
    meeting, small = Kernel("meeting", 1, 0, 0.0, part="tp"), Kernel("memory", 3, 0, 0.0)
    found = kernels_s([meeting, small], rates, 100e-6)
    assert found["tp"] == pytest.approx(100e-6)
    assert found.total_s == pytest.approx(4 * 70e-6)


def test_a_collective_takes_a_launch_more_than_its_bytes() -> None:
    """70 us, whether it waits for its launch, or for a kernel of 1 ms whose time hides all launches."""
    rates = Rates.of(CHIP, launch_us=70.0, attention_factor=1.0)
    meeting, small = Kernel("meeting", 1, 0, 0.0, part="tp"), Kernel("memory", 3, 0, 0.0)
    large = Kernel("memory", 1, 0, 5e8)
    assert kernels_s([small, meeting], rates, 100e-6).total_s == pytest.approx(3 * 70e-6 + 170e-6)
    found = kernels_s([large, meeting, small], rates, 100e-6)
    assert found.total_s == pytest.approx(1005e-6 + 170e-6 + 15e-6)
    assert found["launches"] == pytest.approx(4 * 5e-6 + 70e-6)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.none() | st.floats(0, 1e8)), min_size=1, max_size=12),
    st.floats(1.0, 200.0),
)
def test_a_pass_is_what_launching_and_running_each_kernel_gives(
    made: list[tuple[int, float | None]], launch_us: float
) -> None:
    """Kernel by kernel: it begins when it is launched and the one before has ended; None is a meeting."""
    rates = Rates.of(CHIP, launch_us=launch_us, attention_factor=1.0)
    launched = ended = 0.0
    for repeats, size in made:
        for _ in range(repeats):
            taken = 50e-6 + rates.floor_s if size is None else size / rates.memory + rates.launch_s
            ended = max(launched, ended) + taken
            launched += rates.floor_s
    kernels = [
        Kernel("meeting", repeats, 0, 0.0, part="tp") if size is None else Kernel("memory", repeats, 0, size)
        for repeats, size in made
    ]
    found = kernels_s(kernels, rates, 50e-6)
    assert found.total_s == pytest.approx(max(launched, ended), rel=1e-9)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, int]:
    """A plan that runs, and its NPUs."""
    tp, pp, dp, cp = [draw(st.sampled_from([1, 2, 4])) for _ in range(4)]
    schedule = draw(st.sampled_from(["gpipe", "1f1b", "interleaved", "zb-h1"]))
    zero = draw(st.sampled_from([0, 1, 3]))
    plan = Plan(
        dp=dp, tp=tp, pp=pp, cp=cp, micro_batch=draw(st.sampled_from([1, 2])), schedule=schedule,
        chunks=2 if schedule == "interleaved" else 1, weight_sharded=zero == 3, zero=min(zero, 1),
        sequence_parallel=tp > 1 and draw(st.booleans()), recompute=draw(st.sampled_from(["none", "full"])),
        precision=draw(st.sampled_from(["bf16", "fp8"])), context=draw(st.sampled_from(["ring", "gather"])),
        overlap_dp=draw(st.booleans()),
    )  # fmt: skip
    assume(not (schedule == "interleaved" and pp == 1))
    return plan, plan.npus


@given(plans(), st.floats(1.1, 10))
def test_parts_sum_to_the_step_and_faster_hardware_is_never_slower(
    case: tuple[Plan, int], factor: float
) -> None:
    """Of any plan: no part below 0, and more bandwidth or operations per second never cost time."""
    plan, npus = case
    try:
        plain = predict(MODEL, plan, cluster(npus))
    except InfeasibleStrategy:
        assume(False)
        raise
    assert tuple(plain.parts_s) == PARTS
    assert sum(plain.parts_s.values()) == pytest.approx(plain.step_s, rel=1e-12)
    assert min(plain.parts_s.values()) >= -1e-12
    faster = replace(
        CHIP,
        peak_tflops={name: factor * value for name, value in CHIP.peak_tflops.items()},
        memory_bandwidth_gbps=factor * CHIP.memory_bandwidth_gbps,
    )
    assert predict(MODEL, plan, cluster(npus, 25 * factor)).step_s <= plain.step_s * (1 + 1e-9)
    assert predict(MODEL, plan, cluster(npus, chip=faster)).step_s <= plain.step_s * (1 + 1e-9)
    possible = npus * CHIP.peak_tflops["fp8" if plan.precision == "fp8" else "bf16"] * 1e12
    assert plain.step_s > training_flops(MODEL) / possible


def test_experts_cost_their_active_parameters() -> None:
    """64 experts of which 2 are active have the operations of a dense model of twice the width of one."""
    experts = MixtureOfExperts(64, 2, 1024)
    sparse = predict(replace(MODEL, experts=experts), Plan(dp=8, ep=8), cluster(8))
    dense = predict(replace(MODEL, d_ff=2048), Plan(dp=8), cluster(8))
    assert sparse.parts_s["ep"] > 0
    assert sparse.model_flops == pytest.approx(dense.model_flops, rel=0.02)  # the router
    assert sparse.memory_bytes["weights"] > 2 * dense.memory_bytes["weights"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tp": 3, "dp": 1}, "is 3 NPUs, but cluster has 8"),
        ({"dp": 4, "tp": 2, "micro_batch": 3}, "dp 4 x micro_batch 3 is 12; it must divide the batch of 64"),
        ({"dp": 8, "ep": 2}, "small has no experts"),
        ({"dp": 1, "pp": 8, "schedule": "interleaved", "chunks": 3}, "pp 8 x chunks 3 is 24"),
        ({"dp": 8, "sequence_parallel": True}, "no effect with tp 1"),
        ({"dp": 8, "precision": "fp4"}, "precision is fp4, which chip does not have"),
        ({"dp": 8, "recompute": "half"}, "recompute is half; allowed are none, selective, full"),
        ({"dp": 8, "recompute_layers": 2}, "recompute_layers has no effect with recompute=none"),
    ],
)
def test_plans_that_cannot_run_say_why(changes: dict[str, object], reason: str) -> None:
    """One line each."""
    with pytest.raises(InfeasibleStrategy, match=reason.replace("(", r"\(")):
        predict(MODEL, Plan(**changes), cluster(8))  # type: ignore[arg-type]
