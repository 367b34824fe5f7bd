"""Plans that others published and ran: predicted near what they measured, and not beaten by the advice."""

from __future__ import annotations

import pytest

from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.prediction.steps.predict import Prediction, margin_of, predict, verdict
from dse.prediction.steps.strategies import plan_of
from dse.studies.config import Config, compose_config

H800 = ["system=hgx_h800", "system.nodes=256", "model=deepseek_v3", "space.precision=[fp8]"]
GB200 = ["system=gb200_nvl72", "system.nodes=4", "system.npus_per_node=64", "model=deepseek_v3"]
H100 = [
    "system=dgx_h100",
    "system.nodes=64",
    "model=llama3_405b",
    "model.batch_size=1152",
    "model.seq_len=8192",
]
DEEPSEEK = Strategy(
    pp=16, dp=128, ep=64, expert_tp=1, micro_batch=1, schedule="zb-v", stages="spread", precision="fp8",
    dispatcher="deduplicated", overlap_ep=True, recompute="mla_up_proj+layernorm",
    framework="megatron-bridge",
)  # fmt: skip
BRIDGE = Strategy(
    pp=4, dp=64, ep=64, expert_tp=1, micro_batch=1, schedule="interleaved", chunks=4, stages="4x15-1",
    precision="mxfp8", dispatcher="deduplicated", overlap_ep=True, graphs="full", recompute="mla_up_proj",
    framework="megatron-bridge",
)  # fmt: skip
MLPERF = Strategy(
    tp=8, pp=8, cp=2, dp=4, micro_batch=1, schedule="interleaved", chunks=8, precision="fp8",
    sequence_parallel=True, overlap_tp=True, framework="megatron-bridge",
)  # fmt: skip


def predicted(config: Config, strategy: Strategy) -> Prediction:
    assert config.system.cluster is not None
    return predict(config.model, plan_of(config.model, strategy), config.system.cluster)


def advised(config: Config) -> Prediction:
    """The fastest plan of the space of a configuration whose predicted peak is below the memory."""
    assert config.system.cluster is not None
    usable = config.system.cluster.accelerator.usable_memory_bytes
    found = []
    for strategy in config.space.strategies(config.model, config.system):
        try:
            prediction = predicted(config, strategy)
        except InfeasibleStrategy:
            continue
        if prediction.peak_memory_bytes <= usable:
            found.append(prediction)
    return min(found, key=lambda one: one.step_s)


def may_fit(config: Config, strategy: Strategy, prediction: Prediction) -> bool:
    assert config.system.cluster is not None
    usable = config.system.cluster.accelerator.usable_memory_bytes
    return verdict(prediction.peak_memory_bytes, usable, margin_of(strategy.framework)) != "does not fit"


def test_deepseek_v3_on_2048_h800_takes_what_deepseek_measured() -> None:
    """https://arxiv.org/abs/2412.19437, section 1: 180,000 GPU-hours for 10^12 tokens are 19.9 s a step."""
    config = compose_config(
        [*H800, "space.micro_batch=[1]", "space.cp=[1]", "space.recompute=[light]"], command="sweep"
    )
    published = predicted(config, DEEPSEEK)
    assert published.step_s == pytest.approx(19.9, rel=0.10)
    assert may_fit(config, DEEPSEEK, published)
    assert advised(config).step_s <= published.step_s


def test_deepseek_v3_on_256_gb200_runs_best_nearly_as_megatron_bridge_runs_it() -> None:
    """Megatron Bridge, docs/performance-summary.md, 26.08: pp 4, ep 64, vp 4, mla_up_proj, 13.3 s a step."""
    space = [
        "space.micro_batch=[1]",
        "space.cp=[1]",
        "space.recompute=[none,light]",
        "space.precision=[mxfp8]",
    ]
    config = compose_config([*GB200, "model.batch_size=4096", *space], command="sweep")
    published = predicted(config, BRIDGE)
    assert may_fit(config, BRIDGE, published)
    assert published.step_s == pytest.approx(13.3, rel=0.06)
    assert published.step_s <= 1.05 * advised(config).step_s


def test_llama_405b_on_512_h100_runs_best_nearly_as_mlperf_runs_it() -> None:
    """MLPerf Training 5.0, NVIDIA's Llama 3.1 405B on 512 H100: tp 8, pp 8, cp 2, vp 8, 55.1 s a step."""
    config = compose_config([*H100, "space.precision=[fp8]"], command="sweep")
    published = predicted(config, MLPERF)
    assert may_fit(config, MLPERF, published)
    assert published.step_s == pytest.approx(55.1, rel=0.06)
    assert published.step_s <= 1.02 * advised(config).step_s
