"""A process that asks Megatron-Core about settings: `python megatron_core_judge.py CASES.json`.

A case is a list of a world size and options of Megatron-LM. It prints a list with an empty text for each case
that the core accepts, and the refusal for the others. No GPU is needed: the process group is a fake one.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

_NAMES = {
    "--num-experts": "num_moe_experts",
    "--group-query-attention": None,
    "--disable-bias-linear": None,
    "--swiglu": "gated_linear_unit",
    "--fp8-format": "fp8",
    "--fp4-format": "fp4",
    "--num-virtual-stages-per-pipeline-rank": "virtual_pipeline_model_parallel_size",
    "--cpu-offloading-num-layers": "cpu_offloading_num_layers",
}
_MLA = {"--q-lora-rank", "--kv-lora-rank", "--qk-head-dim", "--qk-pos-emb-head-dim", "--v-head-dim"}


def config_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a config of the core that options set."""
    found: dict[str, Any] = {}
    for option, value in options.items():
        name = _NAMES.get(option, option.lstrip("-").replace("-", "_"))
        if name is not None:
            found[name] = value
    if options.get("--pipeline-model-parallel-size", 1) > 1:
        import torch

        found["pipeline_dtype"] = torch.bfloat16
    if options.get("--cpu-offloading-num-layers"):
        found["cpu_offloading"] = True
    found["add_bias_linear"] = not options.get("--disable-bias-linear", False)
    frequency = str(found.pop("moe_layer_freq", "1"))
    if frequency.isdecimal():
        found["moe_layer_freq"] = int(frequency)
    return found


def judge(world: int, options: dict[str, Any]) -> str:
    """Return the first refusal of the core, or an empty text."""
    import torch
    from megatron.core import parallel_state
    from megatron.core.num_microbatches_calculator import (
        destroy_num_microbatches_calculator,
        init_num_microbatches_calculator,
    )
    from megatron.core.transformer import MLATransformerConfig, TransformerConfig
    from torch.testing._internal.distributed.fake_pg import FakeStore

    kind = MLATransformerConfig if options.get("--multi-latent-attention") else TransformerConfig
    fields = inspect.signature(kind).parameters
    values = {name: value for name, value in config_of(options).items() if name in fields}
    degrees = {
        name: options.get(f"--{name.replace('_', '-')}")
        for name in (
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "context_parallel_size",
            "expert_model_parallel_size",
            "expert_tensor_parallel_size",
        )
    }
    try:
        kind(**values)
        torch.distributed.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
        virtual = options.get("--num-virtual-stages-per-pipeline-rank")
        order = "tp-cp-ep-pp-dp" if options.get("--use-tp-pp-dp-mapping") else "tp-cp-ep-dp-pp"
        parallel_state.initialize_model_parallel(
            virtual_pipeline_model_parallel_size=virtual,
            order=order,
            create_gloo_process_groups=False,
            **{name: value for name, value in degrees.items() if value is not None},
        )
        dp = world
        for name in list(degrees)[:3]:
            dp //= degrees[name] or 1
        batch, size = options.get("--global-batch-size"), options["--micro-batch-size"]
        init_num_microbatches_calculator(0, None, batch, size, dp)
    except Exception as error:  # whatever the core raises is a refusal
        return f"{type(error).__name__}: {error}"
    finally:
        destroy_num_microbatches_calculator()
        parallel_state.destroy_model_parallel()
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return ""


if __name__ == "__main__":
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps([judge(world, options) for world, options in cases]))
