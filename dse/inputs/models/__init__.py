"""Transformer shapes."""

from dse.inputs.models.blocks import LatentAttention, LowRankAdapters, MixtureOfExperts
from dse.inputs.models.fidelity import (
    RELATIVE_ERROR,
    REPAIRS,
    REPAIRS_OF,
    Repairs,
    counted_by,
    counted_operations,
)
from dse.inputs.models.mixers import AttentionWindows, SparseAttention, StateSpace
from dse.inputs.models.spec import CHOICES, MODEL_DIMENSIONS, ModelSpec
from dse.inputs.models.traces import refuse_untraceable

__all__ = [
    "CHOICES",
    "MODEL_DIMENSIONS",
    "RELATIVE_ERROR",
    "REPAIRS",
    "REPAIRS_OF",
    "AttentionWindows",
    "LatentAttention",
    "LowRankAdapters",
    "MixtureOfExperts",
    "ModelSpec",
    "Repairs",
    "SparseAttention",
    "StateSpace",
    "counted_by",
    "counted_operations",
    "refuse_untraceable",
]
