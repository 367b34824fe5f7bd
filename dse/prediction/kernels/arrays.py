"""Arrays that the laws of kernels take and return: numbers broadcast over each other."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Sizes: TypeAlias = ArrayLike

US = 1e-6
"""Seconds of a microsecond."""


def floats(values: Sizes) -> Array:
    """Return sizes as floats, which cannot overflow as whole numbers do."""
    return np.asarray(values, dtype=np.float64)
