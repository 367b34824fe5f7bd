"""Transformer shapes."""

from dse.models.conventions import RELATIVE_ERROR, counted_by, counted_operations
from dse.models.fidelity import FIDELITIES, REPAIRS, REPAIRS_OF, Repairs
from dse.models.spec import CHOICES, MODEL_DIMENSIONS, ModelSpec

__all__ = [
    "CHOICES",
    "FIDELITIES",
    "MODEL_DIMENSIONS",
    "RELATIVE_ERROR",
    "REPAIRS",
    "REPAIRS_OF",
    "ModelSpec",
    "Repairs",
    "counted_by",
    "counted_operations",
]
