"""Transformer shapes."""

from dse.models.spec import MODEL_DIMENSIONS, ModelSpec

__all__ = ["MODEL_DIMENSIONS", "ModelSpec"]
