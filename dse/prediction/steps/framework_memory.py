"""The memory that a framework takes on an NPU besides the tensors that every framework keeps."""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.errors import InputError

SELECTIVE = ("core_attn", "products", "elementwise")
WIDEST_MARGIN = 0.15
"""The margin where too few runs tell one: `dse.prediction.calibration.memory_margins`."""


@dataclass(frozen=True)
class FrameworkMemory:
    """The key `memory` of a file of conf/framework.

    `workspace_bytes`: what libraries of products take; `grouped_workspace_bytes`: grouped products besides,
    where a model has experts.
    `optimizer_bytes` per weight: 12 with master weights and both moments in fp32, 8 with moments in bf16.
    `logit_bytes` per logit are alive in the loss: logits in 16 bit, and their copies in fp32;
    `split_logit_bytes` where tensor parallelism splits them, if that differs.
    `live_parameters`: so many gathered weights may be alive under ZeRO 3, which then gathers single matrices
    and scatters their gradients; 0 means two whole layers.
    `placeholder_gradients`: a gradient in 16 bit of each shape of a layer's matrices stays allocated, as
    autograd asks for one where kernels add to the gradient itself.
    `low_precision_weights`: weights of products in 8 bit exist in 8 bit only, along both sides.
    `gathered_inputs`: sequence parallelism keeps inputs of products whole, not to gather them again.
    `unfused`: norms, rotary positions and the product with a gate each keep their own inputs.
    `whole_stages`: with pipelines, weights that ZeRO shards stay gathered from micro-batch to micro-batch,
    and their gradients whole and in fp32 until the last.
    `casts_in_use`: weights exist in fp32, which is no part of `optimizer_bytes` then. A layer's are cast, and
    gathered, for its passes, and its gradients leave in 16 bit.
    `splits_residual`: tensor parallelism splits the residual stream by its width.
    `selective` recomputation repeats the core of attention, or every second product and all between, or the
    core and all that is elementwise; the latter is never kept, as a compiler repeats it.
    `allocator_slack`: the share of its tensors that an allocator holds besides, where the framework's logs
    tell the memory that is reserved.
    `margin`: how far predicted peaks are off (`dse.prediction.steps.predict`).

    Raises:
        InputError: a number is impossible.
    """

    workspace_bytes: int = 2 * 2**25
    grouped_workspace_bytes: int = 0
    optimizer_bytes: int = 12
    logit_bytes: int = 6
    split_logit_bytes: int | None = None
    live_parameters: int = 0
    placeholder_gradients: bool = False
    low_precision_weights: bool = False
    gathered_inputs: bool = False
    unfused: bool = False
    whole_stages: bool = False
    casts_in_use: bool = False
    splits_residual: bool = False
    selective: str = "core_attn"
    allocator_slack: float = 0.0
    margin: float = WIDEST_MARGIN

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key in ("workspace_bytes", "grouped_workspace_bytes", "live_parameters"):
            if getattr(self, key) < 0:
                raise InputError(f"framework.memory.{key} is {getattr(self, key)}; it must be at least 0")
        if not 0 < self.optimizer_bytes <= 16:
            raise InputError(
                f"framework.memory.optimizer_bytes is {self.optimizer_bytes}; it must be from 1 to 16"
            )
        if not 2 <= self.logit_bytes <= 32:
            raise InputError(f"framework.memory.logit_bytes is {self.logit_bytes}; it must be from 2 to 32")
        if self.selective not in SELECTIVE:
            raise InputError(
                f"framework.memory.selective is {self.selective}; allowed are {', '.join(SELECTIVE)}"
            )
        for key in ("allocator_slack", "margin"):
            if not 0 <= getattr(self, key) < 1:
                raise InputError(
                    f"framework.memory.{key} is {getattr(self, key)}; it must be at least 0 and below 1"
                )
