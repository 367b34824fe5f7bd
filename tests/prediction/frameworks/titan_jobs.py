"""Random jobs that torchtitan can run, for the tests of its dialect and for its arbiter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.kinds.torchtitan_models import flavours
from dse.prediction.steps.plan import Plan

MODELS = {
    name: replace(model, prediction_layers=0, micro_batches=None)
    for name, model in models_of_conf()
    if name in flavours()
}
Pick = Callable[[Sequence[Any]], Any]


def titan_job(pick: Pick) -> Job:
    """Return a job of `pick`, which chooses one of several values."""
    model = MODELS[pick(sorted(MODELS))]
    has_experts = model.experts is not None
    tp = pick([n for n in (1, 2, 4, 8) if model.key_value_heads % n == 0])
    pp, cp, dp = pick([1, 2, 4]), pick([1, 2]), pick([1, 2, 8])
    ep = pick([n for n in (1, 2, 4, 8) if (tp * cp * dp) % n == 0]) if has_experts else 1
    schedule = pick(["1f1b", "gpipe", "interleaved", "zb-h1", "zb-v"]) if pp > 1 else "1f1b"
    chunks = pick([2, 3]) if schedule == "interleaved" else 2 if schedule == "zb-v" else 1
    micro_batch = pick([1, 2])
    stages = "even" if pp == 1 else pick(["spread", "lighter-last", "lighter-ends"])
    recompute = pick(["none", "full"])
    half = max(1, model.num_layers // pp // 2)
    is_eager = pick([True, False])
    is_split = has_experts and ep > 1
    formats = ["bf16"] if is_eager else ["bf16", "fp8", "mxfp8"] + ["fp4"] * (not has_experts)
    plan = Plan(
        tp=tp, pp=pp, cp=cp, dp=dp, ep=ep,
        expert_tp=1 if is_split and tp > 1 else 0,
        micro_batch=micro_batch,
        schedule=schedule,
        chunks=chunks,
        stages=stages,
        sequence_parallel=tp > 1 and pick([True, False]),
        context="gather" if cp > 1 else "ring",
        recompute=recompute,
        recompute_layers=pick([0, half]) if recompute == "full" else 0,
        overlap_tp=tp > 1 and not is_eager and pick([True, False]),
        offload=pick(["none", "optimizer"]),
        dispatcher=pick(["alltoall", "deduplicated"]) if is_split else "alltoall",
        graphs="none" if pp > 1 or is_split else pick(["none", "full"]),
        framework="torchtitan" if is_eager else "torchtitan-compiled",
        optimizer_bytes=pick([None, 4]),
        precision=pick(formats),
        **_sharding(pick, dp, pp, cp, tp, ep, has_experts=has_experts),
    )  # fmt: skip
    return Job(replace(model, batch_size=dp * micro_batch * pp * 2), plan)


def _sharding(
    pick: Pick, dp: int, pp: int, cp: int, tp: int, ep: int, *, has_experts: bool
) -> dict[str, Any]:
    if dp * cp == 1:
        return {"weight_sharded": False, "zero": 1}
    kinds: list[dict[str, Any]] = [{"weight_sharded": True, "zero": 1}]
    if pp == 1:
        kinds.append({"weight_sharded": False, "zero": 2})
    if cp == 1 and dp > 1 and tp % ep == 0:
        kinds.append({"weight_sharded": False, "zero": 0})
    if dp == 8 and cp == 1 and not has_experts:
        kinds.append({"weight_sharded": True, "zero": 1, "shard_ranks": 2})
    found: dict[str, Any] = pick(kinds)
    return found


@st.composite
def titan_jobs(draw: st.DrawFn) -> Job:
    """Jobs that torchtitan can run."""
    return titan_job(lambda values: draw(st.sampled_from(list(values))))
