"""How a training step is run on accelerators: every choice that changes its time or its memory."""

from __future__ import annotations

from dataclasses import dataclass

from dse.inputs.strategies import AXIS

ORDER = "tp-cp-ep-dp-pp"

STAGES = AXIS["stages"].choices
"""How layers are shared out to pipeline stages: see `dse.prediction.steps.layout.stage_layers`."""


@dataclass(frozen=True)
class Plan:
    """Degrees, micro-batches and what is switched on; the names are those of Megatron-LM and DeepSpeed.

    tp x cp x dp x pp NPUs. `ep` divides dp x cp x tp / `expert_tp` and places experts there. `micro_batch`
    are the sequences of a micro-batch on a data-parallel rank. `schedule` is one of
    `dse.inputs.strategies.schedules`; `chunks` the model chunks of a stage (zb-v: 2). `stages` is the rule
    by which layers are shared out (`STAGES`); `layers_per_stage` lists their counts instead, in their order.
    `zero` 0 to 3 is the stage of ZeRO (3: FSDP); `shard_ranks` of dp share a copy of the weights under stage
    3, and other ranks have copies (hybrid sharding, HSDP; None means one copy). `recompute` is none,
    selective (attention core) or full, of `recompute_layers` layers of each stage (None means all; a stage
    with fewer: all of its own). `sequence_parallel` shards activations outside the tensor-parallel blocks
    over tp. `context` says how keys and values meet under cp: ring, ulysses or gather. `precision` is fp16,
    bf16, fp8 or fp4 (products of weights only, gradients included; the rest in 16 bit). `attention` is flash
    or unfused. `overlap_tp` and `overlap_dp` say whether those collectives hide behind products and the
    backward pass. `offload` is none, optimizer or activations. `order` places ranks, innermost first.
    `framework` is a file of conf/framework; `launch_us` is what launching a kernel takes its CPU (None means
    as there).
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    expert_tp: int | None = None
    micro_batch: int = 1
    schedule: str = "1f1b"
    chunks: int = 1
    stages: str = "even"
    layers_per_stage: tuple[int, ...] = ()
    zero: int = 1
    shard_ranks: int | None = None
    sequence_parallel: bool = False
    context: str = "ring"
    recompute: str = "none"
    recompute_layers: int | None = None
    precision: str = "bf16"
    attention: str = "flash"
    overlap_tp: bool = False
    overlap_dp: bool = True
    offload: str = "none"
    framework: str = "megatron-core"
    order: str = ORDER
    launch_us: float | None = None

    @property
    def npus(self) -> int:
        """Number of NPUs that the plan occupies."""
        return self.tp * self.cp * self.dp * self.pp
