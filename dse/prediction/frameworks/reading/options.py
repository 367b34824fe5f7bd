"""Options of programs, as argparse and its kin read them: --key value, --key=value, flags and lists."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError, excerpt, unknown
from dse.prediction.frameworks.reading.values import is_number, readable, scalar, settled

_TABLE = Path(__file__).parent.parent / "tables" / "megatron_options.json"
_FLAGS_NAMES = """
--use-cpu-initialization --no-save-optim --no-save-rng --no-load-optim --no-load-rng --onnx-safe
--fim-no-prefix --recompute-activations --yarn-correction-range-round-to-int
"""
_FLAGS = frozenset(_FLAGS_NAMES.split())
"""Flags that the table of defaults does not show to be such."""
_SEVERAL_NAMES = """
--cp-comm-type --recompute-modules --offload-modules --hierarchical-context-parallel-sizes
--cuda-graph-scope --cuda-graph-modules --moe-router-load-balancing-type --moe-aux-loss-coeff
--rampup-batch-size --profile-ranks
"""
_SEVERAL = frozenset(_SEVERAL_NAMES.split())
_DEEPSPEED_NAMES = """
--deepspeed --deepspeed_config --deepspeed_mpi --zero-stage --deepspeed-activation-checkpointing
--pp-partition-method --no-pipeline-parallel --ds-sequence-parallel-size
--force-ds-sequence-parallel --num-key-value-heads --cpu-optimizer --cpu_torch_adam
--checkpoint-in-cpu --partition-activations --contigious-checkpointing --synchronize-each-layer
--profile-backward --use-pin-memory --use-flash-attn-v1 --use-flash-attn-v2 --use-flash-attn-triton
--universal-checkpoint --pad-vocab-size-to --abort-on-unmet-fused-kernel-constraints --train-tokens
--lr-decay-tokens --lr-warmup-tokens --embed-layernorm --sync-tp-duplicated-parameters
--kill-switch-path --skip-train-iteration-range --tokenizer-name-or-path
"""
_DEEPSPEED = frozenset(_DEEPSPEED_NAMES.split())
_OLDER_CHOICES: Mapping[str, Mapping[str, str]] = {
    "--normalization": {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"},
    "--position-embedding-type": {"alibi": "alibi"},
    "--tokenizer-type": {"PretrainedFromHF": "HuggingFaceTokenizer", "HFTokenizer": "HuggingFaceTokenizer"},
}
"""Values of Megatron-DeepSpeed alone, and how they are called today."""
OLDER = {
    "--activations-checkpoint-method": "2021: all of a layer is recomputed; now --recompute-granularity full",
    "--activations-checkpoint-num-layers": "2021: now --recompute-num-layers",
    "--checkpoint-activations": "2021: all of a layer is recomputed; now --recompute-granularity full",
    "--checkpoint-num-layers": "2021: now --recompute-num-layers",
    "--distribute-checkpointed-activations": "2021: now --distribute-saved-activations",
    "--DDP-impl": "2021: there is one implementation now",
    "--model-parallel-size": "2021: now --tensor-model-parallel-size",
    "--batch-size": "2021: now --micro-batch-size",
    "--no-contiguous-buffers-in-local-ddp": "2021: now always on",
    "--use-flash-attn": "2024: now --attention-backend flash",
    "--use-mcore-models": "2024: now always on",
    "--use-rotary-position-embeddings": "2024: now --position-embedding-type rope",
    "--no-query-key-layer-scaling": "2022: now the default",
    "--fp8-hybrid": "2023: now --fp8-format hybrid",
    "--fp8-e4m3": "2023: now --fp8-format e4m3",
    "--no-async-tensor-model-parallel-allreduce": "2024: now always off",
    "--delay-param-gather": "2024: gone",
    "--delay-grad-reduce": "2024: gone",
    "--no-delay-grad-reduce": "2024: gone",
    "--moe-extended-tp": "2024: gone; now --expert-tensor-parallel-size",
    "--moe-use-legacy-grouped-gemm": "2025: gone",
    "--use-legacy-models": "2025: gone",
    "--use-custom-fsdp": "2025: now --use-megatron-fsdp",
    "--standalone-embedding-stage": "2024: now a pipeline layout",
    "--sharded-state-dict": "2024: now the default",
    "--data-impl": "2023: gone",
    **dict.fromkeys(_DEEPSPEED, "of Megatron-DeepSpeed"),
}
"""Options that Megatron-LM had, or that its descendants have."""
_OF_FILES = "--yaml-cfg"
_MOST_WORDS = 100_000


class Option(NamedTuple):
    """An option of Megatron-LM: where its value goes, its default as a text, and what is allowed."""

    destination: str
    default: str
    choices: tuple[str, ...] = ()


@functools.cache
def megatron_options() -> Mapping[str, Option]:
    """Return the options of Megatron-LM by name."""
    rows = json.loads(_TABLE.read_text(encoding="utf-8"))["options"]
    return {name: Option(row[0], row[1], tuple(row[2] if len(row) > 2 else ())) for name, row in rows.items()}


def grouped(words: Sequence[str], where: str) -> list[tuple[str, list[str]]]:
    """Return options with the words that follow them; words before the first have the option "".

    Raises:
        InputError: there are too many words.
    """
    if len(words) > _MOST_WORDS:
        raise InputError(f"{where}: has {len(words)} words; at most {_MOST_WORDS} are allowed")
    found: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word.startswith("-") and len(word) > 1 and not is_number(word):
            name, has_value, value = word.partition("=")
            found.append((name, [value] if has_value else []))
        else:
            found[-1][1].append(word)
    return found


def megatron_settings(words: Sequence[str], where: str, notes: list[str]) -> dict[str, Any]:
    """Return the options of a Megatron-LM command; an option without a value is true.

    Raises:
        InputError: an unknown option, with the nearest name; a value that is missing or not allowed.
    """
    settings: dict[str, Any] = {}
    descendants: list[str] = []
    for name, values in grouped(words, where):
        if not name:
            _refuse_stray(values, where, "before the first option")
            continue
        option = megatron_options().get(name)
        if name == _OF_FILES:
            raise InputError(
                f"{where}: {name} takes all options from a file, and none from the command; check that file, "
                "or write its values as options"
            )
        if option is None and name in OLDER:
            notes.append(f"{name} is read though it is no option of today ({OLDER[name]})")
        elif option is None:
            raise InputError(
                unknown(
                    f"{where}: {excerpt(readable(name))} is no option of Megatron-LM",
                    name,
                    megatron_options(),
                    "allowed are those of its version 0.19, written in full",
                )
            )
        descendants += [
            f"{name} {value} is no choice of Megatron-LM (of Megatron-DeepSpeed)"
            for value in values
            if value in _OLDER_CHOICES.get(name, {})
        ]
        settings[name] = _megatron_value(
            name, option, [settled(name, value, where, notes, ("megatron-lm",)) for value in values], where
        )
    notes += [] if settings.keys() & _DEEPSPEED else descendants
    return settings


def _megatron_value(name: str, option: Option | None, values: list[str], where: str) -> Any:
    if option is None:
        return True if not values else scalar(values[0], has_none=False)
    if option.default in ("True", "False") or name in _FLAGS:
        _refuse_stray(values, where, f"after {name}, which is a flag")
        return True
    if not values:
        raise InputError(f"{where}: {name} needs a value{_allowed(option)}")
    has_one = bool(option.choices) or isinstance(scalar(option.default), int | float)
    if has_one and name not in _SEVERAL:
        _refuse_stray(values[1:], where, f"after {name} {excerpt(values[0])}")
    choices = [choice.rpartition("AttnBackend.")[2] for choice in option.choices]
    older = _OLDER_CHOICES.get(name, {})
    values = [older.get(value, value) for value in values]
    choices += set(older.values()).difference(choices)
    wrong = next((value for value in values if choices and value not in choices), None)
    if wrong is not None:
        problem = f"{where}: {name} is '{excerpt(wrong)}'"
        raise InputError(unknown(problem, wrong, choices, f"allowed are {', '.join(choices)}"))
    found = [value if choices else scalar(value, has_none=False) for value in values]
    return found if len(found) > 1 else found[0]


def _allowed(option: Option) -> str:
    return f"; allowed are {', '.join(option.choices)}" if option.choices else ""


def _refuse_stray(values: Sequence[str], where: str, place: str) -> None:
    if values:
        raise InputError(f"{where}: '{excerpt(readable(values[0]))}' stands {place}; options begin with --")


def trainer_settings(words: Sequence[str], where: str, notes: list[str]) -> dict[str, Any]:
    """Return the arguments of a Trainer or another program: dashes before names, underscores within.

    A name without a value is true; words that belong to no option are left out with a note.

    Raises:
        InputError: a value is open.
    """
    settings: dict[str, Any] = {}
    for name, values in grouped(words, where):
        if not name:
            notes += [
                f"'{excerpt(readable(value))}' belongs to no option and is passed over" for value in values
            ]
            continue
        key = "--" + name.lstrip("-").replace("-", "_")
        found = [scalar(settled(key, value, where, notes, ("accelerate", "deepspeed"))) for value in values]
        settings[key] = True if not found else found[0] if len(found) == 1 else found
    return settings
