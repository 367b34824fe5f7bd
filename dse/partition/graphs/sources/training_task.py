"""A model to partition and train, with its data and its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingTask:
    """A module, `sample(generator, count)` → (inputs, target), and `loss(output, target)`.

    `inputs` is a tuple of tensors whose first dimension is `count`; the loss is a mean over it. Types are
    those of torch, which is imported only where it is used.
    """

    module: Any
    sample: Callable[[Any, int], tuple[tuple[Any, ...], Any]]
    loss: Callable[[Any, Any], Any]
