"""Plans that cannot run, or that say what has no effect, are refused by one kind of error in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.timed_steps import timed_network
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import MixtureOfExperts, ModelSpec, StateSpace
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict, require_feasible

MODEL = ModelSpec("small", 32000, 32000, 2048, 8192, 16, 1024, 64, 16, fidelity="realistic")
MIXTURE = replace(MODEL, experts=MixtureOfExperts(8, 2, 1024, shared=1, shared_d_ff=1025))
NODE = cluster_of_conf("dgx_h100", 1)


@pytest.mark.parametrize(
    ("model", "plan", "reason"),
    [
        (MODEL, Plan(dp=8, expert_tp=2), "expert_tp is 2, but small has no experts; leave it out"),
        (MIXTURE, Plan(dp=8, expert_tp=-1), "expert_tp is -1; it must be at least 0"),
        (MODEL, Plan(dp=8, micro_batch=0), "micro_batch is 0; it must be at least 1"),
        (MODEL, Plan(dp=8, zero=3), "zero is 3; it must be an integer from 0 to 2"),
        (MIXTURE, Plan(tp=8), "tp is 8; it must divide the width of the shared experts, 1025"),
        (
            MODEL,
            Plan(dp=8, weight_sharded=True, overlap_dp=False),
            "overlap_dp=false has no effect",
        ),
        (MODEL, Plan(dp=4, pp=2, schedule="zb-v"), "zb-v has exactly 2 chunks a stage"),
        (MODEL, Plan(dp=4, pp=2, schedule="zbv"), "schedule is zbv; allowed are 1f1b, gpipe, interleaved"),
        (MODEL, Plan(dp=4, pp=2, schedule="interleaved"), "interleaved has at least 2 chunks"),
        (MODEL, Plan(dp=8, order="tp-dp"), "order is 'tp-dp'; it must have each of tp, cp, ep, dp, pp once"),
        (MODEL, Plan(dp=8, order="tp-cp-ep-dp-xp"), "order 'tp-cp-ep-dp-xp' has 'xp'"),
        (
            replace(MODEL, seq_len=1020),
            Plan(tp=8, sequence_parallel=True),
            "tp is 8; it must divide the sequence of a rank (sequence_parallel), 1020",
        ),
        (
            replace(MODEL, layer_pattern="M-" * 8, state_space=StateSpace(32, 64, 128, groups=4)),
            Plan(tp=8),
            "tp is 8; it must divide the groups of state-space heads, 4",
        ),
        (
            MODEL,
            Plan(dp=8, recompute="full", recompute_layers=-1),
            "recompute_layers is -1; it must",
        ),
        (
            MODEL,
            Plan(dp=4, pp=2, recompute="full", recompute_layers=9),
            "recompute_layers is 9; it must be at most the 8 layers of a stage",
        ),
    ],
)
def test_a_plan_that_cannot_run_is_infeasible(model: ModelSpec, plan: Plan, reason: str) -> None:
    for ask in (predict, require_feasible):
        with pytest.raises(InfeasibleStrategy) as caught:
            ask(model, plan, NODE)
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("system", "has", "lacks"), [("dgx_v100", "fp16", "bf16"), ("dgx_a100", "bf16", "fp8")]
)
def test_a_precision_that_the_accelerator_lacks_is_refused(system: str, has: str, lacks: str) -> None:
    cluster = cluster_of_conf(system, 1)
    plan = Plan(dp=cluster.npus // 2, pp=2, micro_batch=1, precision=has)
    assert predict(MODEL, plan, cluster).step_s > 0
    assert timed_network(MODEL, plan, cluster).peak_tflops == cluster.accelerator.peak_tflops[has]
    with pytest.raises(InfeasibleStrategy, match=f"is {lacks}, which .* does not have; write {has}"):
        predict(MODEL, replace(plan, precision=lacks), cluster)
