"""Random steps of many models, clusters and all axes: most plans cannot run, others are of every kind."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.accelerators.algorithms import ALGORITHMS, GroupAlgorithms
from dse.inputs.models import ModelSpec
from dse.prediction.steps.batch import Case
from dse.prediction.steps.frameworks import framework_names
from dse.prediction.steps.plan import Plan
from dse.studies.config.compose import compose_config

_ORDERS = (*["tp-cp-ep-dp-pp"] * 4, "tp-cp-ep-pp-dp", "pp-tp-dp-cp-ep", "dp-tp-cp-ep-pp", "ep-dp-cp-tp-pp")
_RECOMPUTED = (
    *("none", "none", "selective", "full", "light", "mlp+layernorm"),
    *("moe", "moe_act+mla_up_proj", "shared_experts"),
)
_CHUNKS = {"interleaved": (2, 3, 4, 8), **dict.fromkeys(("v-half", "v-min", "zb-v"), (2,))}


@functools.cache
def models() -> list[ModelSpec]:
    """Models with all that models may have."""
    names = (
        "deepseek_v3 deepseek_v3_2 gemma3_12b gpt_oss_20b llama3_70b llama4_scout megatron_22b mixtral_8x7b"
    )
    every = (*names.split(), "nemotron_h_8b")
    return [compose_config([f"model={name}", "system=dgx_h100"]).model for name in every]


@functools.cache
def clusters() -> list[Cluster]:
    """Clusters with all that clusters may have, with several numbers of nodes."""
    names = "dgx_a100 dgx_b200 gb200_nvl72 g5_48xlarge hgx_a100_hdr4 mi300x_platform tpu_v5p_slice"
    found = []
    for name in names.split():
        for nodes in (1, 2, 16):
            try:
                system = compose_config([f"system={name}", f"system.nodes={nodes}"]).system
            except InputError:  # more nodes than its network joins
                continue
            assert system.cluster is not None
            found.append(system.cluster)
    return found


def random_cases(seed: int, count: int) -> Iterator[Case]:
    """Yield so many cases."""
    draw = random.Random(seed)
    while count:
        cluster = draw.choice(clusters())
        degrees = _degrees(draw, cluster.npus)
        if degrees["pp"] > 64 or degrees["tp"] > 64:
            continue
        if draw.random() < 0.1:
            tp, dp = (draw.choice([name for name in ALGORITHMS if name != "synthesized"]) for _ in range(2))
            cluster = replace(cluster, algorithms=GroupAlgorithms(tp, dp))
        model = draw.choice(models())
        batch = degrees["dp"] * draw.choice((1, 2, 4, 6, 8, 16, 32))
        model = replace(model, batch_size=batch, micro_batches=None)
        yield Case(model, _plan(draw, model, degrees), cluster)
        count -= 1


def _degrees(draw: random.Random, npus: int) -> dict[str, int]:
    degrees, factor = {"tp": 1, "cp": 1, "dp": 1, "pp": 1}, 2
    while npus > 1:
        while npus % factor == 0:
            degrees[draw.choice(list(degrees))] *= factor
            npus //= factor
        factor += 1
    return degrees


def _plan(draw: random.Random, model: ModelSpec, degrees: dict[str, int]) -> Plan:
    def pick(*values: Any) -> Any:
        return draw.choice(values)

    has_stages, has_experts, is_sharded = degrees["pp"] > 1, model.experts is not None, draw.random() < 0.2
    kinds = ("1f1b", "1f1b", "interleaved", "gpipe", "zb-h1", "zb-v", "v-half", "v-min")
    schedule = pick(*kinds) if has_stages else "1f1b"
    rules = ("even", "spread", "spread", "lighter-last", "lighter-ends", "balanced", "7-9x2-7")
    ep = pick(1, 1, 1, 2, 4, 8, 16) if has_experts else 1
    return Plan(
        **degrees,
        ep=ep,
        expert_tp=pick(0, 0, 1, 2) if has_experts else 0,
        micro_batch=pick(1, 1, 2, 4),
        schedule=schedule,
        chunks=pick(*_CHUNKS.get(schedule, (1,))),
        stages=pick(*rules) if has_stages else "even",
        zero=1 if is_sharded else pick(0, 1, 1, 2),
        weight_sharded=is_sharded,
        shard_ranks=pick(0, 0, 2, 4) if is_sharded else 0,
        sequence_parallel=degrees["tp"] > 1 and draw.random() < 0.6,
        context=pick("ring", "ulysses", "gather") if degrees["cp"] > 1 else "ring",
        recompute=pick(*_RECOMPUTED),
        recompute_layers=pick(0, 0, 0, 1, 2),
        precision=pick("bf16", "bf16", "bf16", "fp8", "mxfp8", "fp4", "fp16"),
        attention=pick("flash", "flash", "flash", "unfused"),
        overlap_tp=draw.random() < 0.3,
        overlap_dp=is_sharded or draw.random() < 0.8,
        offload=pick("none", "none", "none", "optimizer", "activations", "activations-2"),
        order=pick(*_ORDERS),
        framework=pick(*framework_names()),
        dispatcher=pick("alltoall", "deduplicated") if ep > 1 else "alltoall",
        overlap_ep=ep > 1 and draw.random() < 0.3,
        graphs=pick("none", "none", "full", "attn"),
        launch_us=pick(None, None, 5.0),
        elementwise=pick(None, None, 1.5),
        optimizer_bytes=pick(None, None, 8),
    )
