"""The framework that a configuration is for: the one that knows most of its keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dse.base.errors import InputError, unknown
from dse.prediction.frameworks.reading.options import OLDER, megatron_options

FRAMEWORKS = ("megatron-lm", "megatron-bridge", "torchtitan", "deepspeed", "maxtext", "accelerate")

_KEYS: Mapping[str, re.Pattern[str]] = {
    "megatron-bridge": re.compile(
        r"model\.(?:\w+_model_parallel_(?:size|layout)|pipeline_\w+|context_parallel_size|\w+_tensor_parallel_size|"
        r"sequence_parallel|seq_length|recompute_\w+|moe_\w+|num_layers|hidden_size|num_attention_heads|ffn_hidden_size|"
        r"cuda_graph_\w+|cp_comm_type|cpu_offloading\w*|mtp_\w+|account_for_\w+|fp8\w*|attention_backend)"
        r"|train\.\w+|ddp\.\w+|comm_overlap(?:\.\w+)?|mixed_precision(?:\.\w+)?|dist\.\w+|rng\.\w+|dataset\.\w+|"
        r"optimizer\.(?:optimizer_cpu_offload|use_\w+|overlap_\w+)|-?-?recipe(?:_name)?"
    ),
    "torchtitan": re.compile(
        r"training\.\w+|parallelism\.\w+|activation_checkpoint(?:\.\w+)?|compile\.\w+|comm\.\w+|model\.(?:name|flavor)|"
        r"(?:float8|quantize|lr_scheduler|metrics|profiling|job|experimental|memory_estimation|validation)\.\w+|"
        r"fault_tolerance\.\w+|optimizer\.(?:name|lr)|module|config|converters?|model_spec|model_converters"
    ),
    "deepspeed": re.compile(
        r"zero_optimization(?:\.[\w.]+)?|(?:bf16|fp16)\.\w+|train_batch_size|train_micro_batch_size_per_gpu|"
        r"gradient_accumulation_steps|gradient_clipping|steps_per_print|wall_clock_breakdown|zero_allow_\w+|"
        r"tensor_parallel\.\w+|expert_parallel\.\w+|activation_checkpointing\.\w+|flops_profiler\.\w+|sequence_parallel_size|"
        r"(?:optimizer|scheduler)\.(?:type|params\.\w+)|aio\.\w+|communication_data_type|prescale_gradients"
    ),
    "maxtext": re.compile(
        r"(?:ici|dcn)_\w+_parallelism|per_device_batch_size|max_target_length|remat_policy|base_(?:emb_dim|config|\w+_dim|"
        r"num_\w+)|model_name|hardware|scan_layers|megablox|num_layers_per_pipeline_stage|num_pipeline_\w+|mesh_axes|"
        r"global_parameter_scale|steps|dataset_type|run_name|base_output_directory|attention|decoder_block|capacity_factor|"
        r"quantization|context_parallel_\w+|optimizer_memory_host_offload|shard_optimizer_over_data|enable_checkpointing|"
        r"gradient_accumulation_steps|head_dim|mlp_activations|weight_dtype|dtype"
    ),
    "accelerate": re.compile(
        r"distributed_type|compute_environment|num_processes|num_machines|machine_rank|main_\w+|rdzv_backend|same_network|"
        r"downcast_bf16|use_cpu|fsdp_config(?:\.\w+)?|parallelism_config(?:\.\w+)?|deepspeed_config(?:\.\w+)?|"
        r"mixed_precision|dynamo_config\.\w+|tpu_\w+|enable_cpu_affinity|"
        r"--per_device_\w+|--gradient_accumulation_steps|--gradient_checkpointing|--fsdp\w*|--model_name_or_path|"
        r"--num_train_epochs|--output_dir|--learning_rate|--max_seq_length|--block_size|--bf16|--fp16|--deepspeed|"
        r"--parallelism_config\w*|--do_train|--warmup_steps"
    ),
}
_OTHERS: Mapping[str, re.Pattern[str]] = {
    "GPT-NeoX": re.compile(r"(?:pipe|model)[-_]parallel[-_]size|gpt[-_]j[-_]residual"),
    "LitGPT": re.compile(r"train\.(?:max_tokens|max_seq_length|tie_embeddings)"),
    "torchtune": re.compile(r"model\._component_"),
    "LLM Foundry": re.compile(r"device_train_microbatch_size"),
    "nanotron": re.compile(r"parallelism\.pp_engine|tokens\.micro_batch_size"),
    "verl": re.compile(r"actor_rollout_ref\.[\w.]+"),
}
"""Keys by which files of frameworks that are not read are known."""
_STYLES: Mapping[str, re.Pattern[str]] = {
    "megatron-lm": re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)+"),
    "accelerate": re.compile(r"--[a-z0-9]+(?:_[a-z0-9]+)+"),
}
"""The form of names: it decides where misspelt options leave as many known ones."""
_HINTS: Mapping[str, re.Pattern[str]] = {
    "torchtitan": re.compile(r"torchtitan", re.IGNORECASE),
    "megatron-lm": re.compile(r"pretrain_\w+\.py"),
    "maxtext": re.compile(r"maxtext", re.IGNORECASE),
    "megatron-bridge": re.compile(r"megatron.bridge|run_recipe", re.IGNORECASE),
}


def checked_framework(name: str) -> str:
    """Return the name of a framework.

    Raises:
        InputError: there is no such one.
    """
    if name not in FRAMEWORKS:
        raise InputError(
            unknown(
                f"framework '{name[:60]}' is unknown",
                name,
                FRAMEWORKS,
                f"allowed are {', '.join(FRAMEWORKS)}",
            )
        )
    return name


def detected(
    keys: Iterable[str], where: str, program: str = "", among: Iterable[str] = FRAMEWORKS, least: float = 0
) -> str:
    """Return the framework that knows most of the keys; where two know as many, the program decides.

    Args:
        keys: options with their dashes, dotted keys without; underscores within names.
        where: how messages call the configuration.
        program: what a command runs.
        among: the frameworks that may be meant.
        least: the share of the keys that it must know.

    Raises:
        InputError: none knows any, or two know as many; lists them.
    """
    keys = list(keys)
    refuse_others(keys, where)
    among = [name for name in FRAMEWORKS if name in among]
    scores = {name: float(sum(_knows(name, key) for key in keys)) for name in among}
    for name, style in _STYLES.items():
        if name in scores:
            scores[name] += 0.01 * sum(bool(style.fullmatch(key)) for key in keys)
    for name, hint in _HINTS.items():
        if name in scores and program and hint.search(program):
            scores[name] += 0.5
    best = max(scores.values(), default=0)
    first = [name for name, score in scores.items() if score == best]
    if best < least * len(keys):
        best = 0
    if best and set(first) == {"deepspeed", "accelerate"}:
        return "deepspeed"  # arguments of a Trainer say the same to both
    if best == 0 or len(first) > 1:
        problem = f"its keys fit {' and '.join(first)} alike" if best else "hardly any of its keys is known"
        raise InputError(
            f"{where}: its framework is unclear: {problem}; write framework=NAME, one of "
            f"{', '.join(FRAMEWORKS)}"
        )
    return first[0]


def refuse_others(keys: Iterable[str], where: str) -> None:
    """Refuse keys of a framework that is not read.

    Raises:
        InputError: one of them is; names the framework and the key.
    """
    for name, form in _OTHERS.items():
        if key := next((key for key in keys if form.fullmatch(key[:200])), ""):
            raise InputError(
                f"{where}: is of {name}, as {key} says, which is not read; write the job as one of "
                f"{', '.join(FRAMEWORKS)}"
            )


def _knows(framework: str, key: str) -> bool:
    if len(key) > 200:
        return False
    if framework == "megatron-lm":
        return key in megatron_options() or (key in OLDER and key != "--deepspeed")
    return bool(_KEYS[framework].fullmatch(key))
