"""Transformer shapes."""

from dse.models.fidelity import FIDELITIES, REPAIRS, REPAIRS_OF, Repairs
from dse.models.spec import MODEL_DIMENSIONS, ModelSpec

__all__ = ["FIDELITIES", "MODEL_DIMENSIONS", "REPAIRS", "REPAIRS_OF", "ModelSpec", "Repairs"]
