"""The program that ran a measured step, from the row's source and notes: tables have no column for it."""

from __future__ import annotations

import re

from dse.prediction.measured.rows import MeasuredRow

# Whose runs a source published: the framework, and whether it reduces gradients during the backward pass.
_SOURCES = (
    (r"vtrain|deepspeed|sc21-tab2", "megatron-deepspeed", False),
    (r"mosaic|foundry|\bmpt", "llm-foundry", True),
    (r"titan|accelerate", "torchtitan", True),
    (r"nanotron", "nanotron", True),
    (r"maxtext|tpu-recipes", "maxtext", True),
    (r"megatron-?bridge", "megatron-bridge", True),
    (r"nemo|dgxc|mlperf", "nemo", True),
    (r"korthikanti|sc21|mt-?nlg|megatron ?readme|megatronreadme|megatron-?lm", "megatron-lm", False),
)
_PUBLISHED_RECIPES = r"nemo|megatron-?bridge|dgxc|megatron-?core"


def framework_of(row: MeasuredRow) -> tuple[str, bool]:
    """Return the framework, and whether gradients are reduced during the backward pass."""
    overlaps = not re.search(r"no overlap", f"{row.notes} {row.field_provenance}", re.IGNORECASE)
    says_early = "overlap-grad-reduce" in row.notes
    for pattern, framework, reduces_early in _SOURCES:
        if re.search(pattern, row.source, re.IGNORECASE):
            if framework == "torchtitan" and re.search(
                r"(?<!no )compile", f"{row.id} {row.notes}", re.IGNORECASE
            ):
                framework = "torchtitan-compiled"
            return framework, says_early or (reduces_early and overlaps)
    return "megatron-core", overlaps


def overlaps_tp(row: MeasuredRow) -> bool:
    """Whether tensor-parallel collectives hide behind products: in NVIDIA's recipes, or by the notes."""
    said = f"{row.id} {row.notes} {row.field_provenance}"
    if re.search(r"no overlap", said, re.IGNORECASE):
        return False
    if re.search(r"tp-comm-overlap|async", said, re.IGNORECASE):
        return True
    return re.search(_PUBLISHED_RECIPES, row.source, re.IGNORECASE) is not None
